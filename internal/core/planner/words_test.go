package planner

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/callid"
	"github.com/dormouse-dev/dormouse/internal/core/inbox"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

func TestCallIDsAreShortTextHoweverLongAModelMakesThem(t *testing.T) {
	var used callid.Used
	seen := map[string]bool{}
	for _, id := range []string{strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20), strings.Repeat("ä", 100), "\xff", "\xfe", ""} {
		got := used.Unique(id)
		if len(got) > 64 || !utf8.ValidString(got) || got == "" || seen[got] {
			t.Errorf("%.20q became %q", id, got)
		}
		seen[got] = true
	}
}

func TestADecisionWithoutAnActionIsSaidToBeUnreadable(t *testing.T) {
	for _, raw := range []string{`{}`, `null`, `7`, ``, `{"action":"?"}`} {
		r, err := inbox.Resume(core.Signal{ID: "d1", At: 3}, json.RawMessage(raw))
		if err == nil || r.Action != core.ActionCancel || r.DecisionID != "d1" {
			t.Errorf("%s was read as %+v, %v", raw, r, err)
		}
	}
}

func TestAnEndWithoutAReasonIsNotRead(t *testing.T) {
	var h core.Head
	if err := json.Unmarshal([]byte(`{"end":{}}`), &h); err == nil {
		t.Errorf("read as %+v", h.End)
	}
}

func TestTokensAreCountedUpAndNeverBeyondWhatCanBeCounted(t *testing.T) {
	d := &draft{}
	for _, n := range []int64{5, -1000, math.MaxInt64, math.MaxInt64} {
		before := d.h.InputTokens
		d.countTokens(core.Turn{InputTokens: n, OutputTokens: n})
		if sum := d.h.InputTokens + d.h.OutputTokens; d.h.InputTokens < before || sum < 0 {
			t.Errorf("after %d: %d", n, d.h.InputTokens)
		}
	}
}

func TestTheEndOfARunIsSaidInAFewWords(t *testing.T) {
	d := &draft{v: plans.View{Rules: plainRules{}}, h: core.Head{Out: map[string]core.Out{}}}
	d.seal(core.Reason{Kind: core.Failed, Code: "model_error", Detail: strings.Repeat("long ", 1<<20)})
	if n := len(core.Encode(d.h.End)); n > 1000 {
		t.Errorf("the end takes %d bytes of the head", n)
	}
}

type plainRules struct{ core.Rules }

func (plainRules) Terms() core.Terms { return core.Terms{} }

func (plainRules) Child(core.ToolCall) (core.ChildSpec, bool) { return core.ChildSpec{}, false }
