package sim_test

import (
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// moments holds what is journaled about calls that wait against what was journaled when they were
// suspended: no one is reminded after an answer was accepted (ND-6), and of all moments that have
// passed there is one event (ND-7).
type moments struct {
	wrong func(format string, args ...any)
	met   map[string]int
	of    map[string]*waitsFor // by suspension
}

type waitsFor struct {
	core.SuspendedCall
	passed int
	// another group was added to the one that is asked
	added bool
}

func newMoments(wrong func(string, ...any), met map[string]int) *moments {
	return &moments{wrong: wrong, met: met, of: map[string]*waitsFor{}}
}

// read learns what a commit has journaled; old is the head before it.
func (m *moments) read(old core.Head, seg core.Segment) {
	for _, e := range seg.Events {
		if call, ok := core.SuspendedIn(e); ok {
			m.of[call.Suspension.ID] = &waitsFor{SuspendedCall: call}
		}
		switch e.Type {
		case core.EventCallReminded, core.EventCallEscalated, core.EventCallDeadlineNear:
			m.came(old, e)
		}
	}
}

func (m *moments) came(old core.Head, e core.Event) {
	var data events.Reminded
	_ = json.Unmarshal(e.Data, &data)
	q := m.of[data.Suspension]
	if q == nil {
		m.wrong("ND-6: %s names no suspension: %s", e.Type, e.Data)
		return
	}
	m.met["moments "+string(e.Type)]++
	if c := old.Calls[data.CallID]; c.Status != core.CallSuspended || c.Sus != data.Suspension {
		m.wrong("ND-6: %s of a call that does not wait on %s: %s", e.Type, data.Suspension, core.Encode(c))
	}
	if _, cancelled := old.Inbox[core.KeyCancel]; cancelled || m.answered(old, q) {
		m.wrong("ND-6: %s on %s after an answer was accepted: %s", e.Type, data.Suspension, core.Encode(old.Inbox))
	}
	passed := 0
	for _, moment := range q.Moments {
		if moment.At <= e.At {
			passed++
		}
	}
	if data.Moment != passed || passed == q.passed || q.Deadline != 0 && q.Deadline <= e.At {
		m.wrong("ND-7: %s at %d counts %d moments after %d, of %s with the deadline %d", e.Type, e.At, data.Moment, q.passed, core.Encode(q.Moments), q.Deadline)
	}
	if passed-q.passed > 1 {
		m.met["moments at once"]++
	}
	due := q.Moments[min(q.passed, passed):passed]
	escalates := slices.ContainsFunc(due, func(m core.Moment) bool { return m.What == core.MomentEscalate })
	if escalates != (e.Type == core.EventCallEscalated) {
		m.wrong("%s at %d, and what was due is %s", e.Type, e.At, core.Encode(due))
	}
	q.passed, q.added = passed, q.added || escalates && !data.Replaced
}

// answered says whether an answer that decides was accepted before a commit.
func (m *moments) answered(old core.Head, q *waitsFor) bool {
	if _, decided := old.Inbox[q.Suspension.ID]; decided {
		return true
	}
	if !q.Counted() {
		return false
	}
	stage := q.asks()
	t := old.Votes[q.Suspension.ID]
	return t.Count(vote.Edit) > 0 || t.Count(vote.Yes) >= stage.Need || t.Count(vote.No) >= stage.Deny()
}

// due is the call of a head about which something is due first, and when; 0 if nothing ever is.
func (m *moments) due(h core.Head) (id string, first int64) {
	for call, c := range h.Calls {
		q := m.of[c.Sus]
		if c.Status != core.CallSuspended || q == nil {
			continue
		}
		if c.Moments != q.passed {
			m.wrong("ND-7: of %s %d moments are noted, and %d are journaled", c.Sus, c.Moments, q.passed)
		}
		at := q.Deadline
		if rest := q.Moments[min(q.passed, len(q.Moments)):]; len(rest) > 0 && (at == 0 || rest[0].At < at) {
			at = rest[0].At
		}
		if held := h.Inbox[c.Sus].Hold; held != 0 {
			at = held
		}
		if at != 0 && (first == 0 || at < first) {
			id, first = call, at
		}
	}
	return id, first
}

// members are who may decide on a question: with what an escalation has added, or put in the place
// of the group.
func (q *waitsFor) members() []string { return q.membersOf(q.Stage, q.added) }

// asks is the stage with the group that decides whether a majority has denied.
func (q *waitsFor) asks() vote.Stage {
	stage := q.Policy.At(q.Stage)
	if stage.Escalate != nil && stage.Escalate.Replace && slices.Contains(q.Escalated, q.Stage) {
		stage.Group = stage.Escalate.To
	}
	return stage
}

// first are those of the first stage.
func (q *waitsFor) first() []string { return q.membersOf(0, q.added && q.Stage == 0) }

func (q *waitsFor) membersOf(number int, added bool) []string {
	stage := q.Policy.At(number)
	group := stage.Group.Entries()
	escalated := slices.Contains(q.Escalated, number)
	switch {
	case stage.Escalate == nil:
	case escalated && stage.Escalate.Replace:
		group = stage.Escalate.To.Entries()
	case escalated || added:
		group = append(group, stage.Escalate.To.Entries()...)
	}
	return group
}
