package plans

import (
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Request is what hooks have made of a step's model call.
type Request struct {
	Step     int
	Context  []string // text for this request only, behind the conversation
	Override *core.Override
	Include  []string // empty: all
	Exclude  []string
}

// Offers says whether the request names the tool to the model.
func (r Request) Offers(tool string) bool {
	return (len(r.Include) == 0 || slices.Contains(r.Include, tool)) && !slices.Contains(r.Exclude, tool)
}

// NewRequest is what the hooks' wishes for a step come to on the state, and the writes that
// remember which context was shown.
func NewRequest(e core.Effects, step int, s core.State) (Request, []core.StateOp) {
	r := Request{Step: step, Override: e.Override, Include: e.Include, Exclude: e.Exclude}
	var shown []core.StateOp
	for _, m := range e.Context {
		mark, due := contextDue(m, step, s)
		if !due {
			continue
		}
		r.Context = append(r.Context, m.Text)
		if m.Cooldown > 1 {
			shown = append(shown, mark)
		}
	}
	return r, shown
}

// lastShown is the state's memory of a context message.
type lastShown struct {
	Digest string `json:"digest"`
	Step   int    `json:"step"`
}

// contextDue says whether a context message is shown in a step, and the write that remembers it.
func contextDue(m core.ContextMessage, step int, s core.State) (mark core.StateOp, due bool) {
	now := lastShown{Digest: core.Digest([]byte(m.Text))[:12], Step: step}
	mark = core.StateOp{Key: "dormouse.context/" + m.Key, Op: core.StateSet, Value: core.Encode(now)}
	var last lastShown
	if raw := s.Get(core.RunScope, mark.Key); raw == nil || json.Unmarshal(raw, &last) != nil {
		return mark, true
	}
	return mark, last.Digest != now.Digest || step-last.Step >= m.Cooldown
}
