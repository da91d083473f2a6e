package plans

import (
	"bytes"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// GateMemo remembers what the gate said of calls, so that the gate is asked once about one call on
// one state. [core.Rules.Gate] is pure: what is remembered is what the gate would say again. A memo
// belongs to the rules and the state of one [View] and of the views that follow it by [View.After].
// A nil memo remembers nothing. Not safe for concurrent use.
//
// In one activation the gate is asked at most twice about each call of a round: when the call is
// first looked at, and when its turn comes if the state has changed since (see keepsItsPlace). A
// tool that is read for a preview is a call, too, and is asked about once. One thing costs more: in
// a parallel round, a hook before a body that refuses its call and writes to the state. The calls
// beside it are asked about again, because they would run on a state that no verdict was given on.
type GateMemo struct{ said map[string][]said }

// said is one verdict and what it rests on, apart from the rules.
type said struct {
	call    core.ToolCall // with the arguments that run
	on      Revision
	verdict core.Verdict
}

// NewGateMemo returns a memo that remembers nothing yet.
func NewGateMemo() *GateMemo { return &GateMemo{said: map[string][]said{}} }

// At returns the verdict on a call at a revision of the state.
func (m *GateMemo) At(r Revision, call core.ToolCall) (core.Verdict, bool) {
	if m == nil {
		return core.Verdict{}, false
	}
	for _, s := range m.said[call.ID] {
		if s.on == r && s.of(call) {
			return s.verdict, true
		}
	}
	return core.Verdict{}, false
}

// Last returns the newest verdict on a call, also if it was given on an earlier state.
func (m *GateMemo) Last(call core.ToolCall) (core.Verdict, bool) {
	if m == nil {
		return core.Verdict{}, false
	}
	all := m.said[call.ID]
	if len(all) == 0 || !all[len(all)-1].of(call) {
		return core.Verdict{}, false
	}
	return all[len(all)-1].verdict, true
}

// Note remembers a verdict on a call.
func (m *GateMemo) Note(r Revision, call core.ToolCall, v core.Verdict) {
	if m != nil {
		m.said[call.ID] = append(m.said[call.ID], said{call, r, v})
	}
}

// of says whether the verdict is on this call: an edit changes the arguments that run.
func (s said) of(call core.ToolCall) bool {
	return s.call.Name == call.Name && bytes.Equal(s.call.Arguments, call.Arguments)
}

// Revision identifies a state by the writes applied since the activation began. Equal revisions
// mean equal states. Counting the writes wouldn't suffice: after a refused commit, the new plan may
// have as many writes with other content.
//
//	Decide: a body wrote ── the hook after a denied call wrote   2 writes: the gate asks
//	        ErrSignals: a decision came
//	Decide: a body wrote ── the hook after the decision wrote    2 writes: another state
type Revision string

// After is the revision once the writes are applied.
func (r Revision) After(ops []core.StateOp) Revision {
	return Revision(core.Digest(core.Encode([]any{r, ops}))[:revisionLength])
}

const revisionLength = 32
