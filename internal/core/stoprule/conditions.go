package stoprule

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

type stopOnTool string

func (name stopOnTool) Stop(p core.Progress) (code, detail string, stop bool) {
	asked := slices.ContainsFunc(p.Turn.Calls, func(c core.ToolCall) bool { return c.Name == string(name) })
	return "stop_on_tool", string(name), name != "" && asked
}

type contentMatch struct{ pattern *regexp.Regexp }

// newContentMatch keeps a rule even for a pattern that does not compile: one that was stored all
// the same stops the run.
func newContentMatch(pattern string) (core.StopRule, error) {
	if pattern == "" {
		return contentMatch{}, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return invalidMatch{}, fmt.Errorf("core: content_match: %w", err)
	}
	return contentMatch{re}, nil
}

func (m contentMatch) Stop(p core.Progress) (code, detail string, stop bool) {
	if m.pattern == nil || !m.pattern.MatchString(p.Turn.Text) {
		return "", "", false
	}
	return "content_match", m.pattern.String(), true
}

type invalidMatch struct{}

func (invalidMatch) Stop(core.Progress) (code, detail string, stop bool) {
	return "content_match_invalid_regex", "the pattern is not a regular expression", true
}

type loopDetection int

// Window is how many turns in a row it compares. One of 1 would be no loop, and one that is larger
// than a head remembers is cut.
func (n loopDetection) Window() int {
	if n <= 0 {
		return 0
	}
	return min(max(int(n), 2), core.MostRounds+1)
}

func (n loopDetection) Stop(p core.Progress) (code, detail string, stop bool) {
	same, now := 1, Signature(p.Turn)
	for _, before := range slices.Backward(p.Rounds) {
		if before != now {
			break
		}
		same++
	}
	return "loop_detection", fmt.Sprintf("the same calls %d times in a row", same), n > 0 && len(p.Turn.Calls) > 0 && same >= n.Window()
}
