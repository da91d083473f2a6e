package slack

import (
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/notify"
)

// decided is the message that says how a question was answered.
func decided(n client.Notice, s notify.Summary, tool string) message {
	var d client.DecisionRecordedData
	_ = json.Unmarshal(n.Event.Data, &d) // missing members aren't shown
	what := s.Title
	if by := who(s); by != "" && !d.TimedOut {
		s.Title += " by " + by
	}
	if tool != "" {
		s.Title += ": " + tool
	}
	m := compose(s)
	if id := member.FindStringSubmatch(d.By); id != nil && d.Via == viaHook {
		m.Blocks = slices.Insert(m.Blocks, 1, block{Type: "context", Elements: []any{marked(what + " by <@" + id[1] + ">")}})
	}
	return m
}

const viaHook = "hook"

// member matches a caller who pressed a button in Slack. Only the id may become markup.
var member = lazyregexp.New(`^hook:[a-z0-9_-]+/([UW][A-Z0-9]{2,30})$`)

func who(s notify.Summary) string {
	for _, f := range s.Facts {
		if f.Label == "By" {
			return f.Text
		}
	}
	return ""
}
