package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// teller counts the votes of an election a second time, by the names of those who sent them. It
// sees every write, and knows nothing of the tallies that the store keeps.
type teller struct {
	*sim.Memory
	e         *election
	questions map[string]*ballotBox // by suspension
	accepted  map[string]core.Signal
	journaled map[string]int
}

// ballotBox is one question and who has said what, in the order in which the store accepted it.
type ballotBox struct {
	core.SuspendedCall
	yes, no []string // people
	edited  string   // the person who wrote other arguments
	closed  bool
}

func newTeller(e *election, m *sim.Memory) *teller {
	return &teller{Memory: m, e: e, questions: map[string]*ballotBox{}, accepted: map[string]core.Signal{}, journaled: map[string]int{}}
}

// person is who a caller is: a token, or the same person's second one.
func person(by string) string { return strings.TrimSuffix(strings.TrimPrefix(by, "token:"), "2") }

func (q *ballotBox) open() bool {
	stage := q.Policy.At(q.Stage)
	return !q.closed && q.edited == "" && len(q.yes) < stage.Need && len(q.no) < stage.Deny()
}

func (q *ballotBox) has(who string) bool {
	return slices.Contains(q.yes, who) || slices.Contains(q.no, who) || q.edited == who
}

// Signal implements frontend.Store: each vote is judged before the store is asked.
func (t *teller) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	q := t.questions[req.Suspension]
	if req.Vote == nil || q == nil {
		w, err := t.Memory.Signal(ctx, req)
		if err == nil && req.Signal.Kind == core.SignalDecision && q != nil {
			t.e.wrong("QD-1: a single decision was stored on a question that several people decide")
		}
		return w, err
	}
	who := person(req.Signal.By)
	open, voted := q.open(), q.has(who) || t.spent(q, who)
	w, err := t.Memory.Signal(ctx, req)
	switch {
	case err == nil && !open:
		t.e.wrong("QD-3: %s voted on %s, and was accepted after the outcome was fixed", who, req.Suspension)
	case err == nil && voted:
		t.e.wrong("QD-1: %s counts twice on %s", who, req.Suspension)
	case err == nil && !w.Head.Calls["c1"].WaitsOn(req.Suspension):
		t.e.wrong("H9: a vote on %s was accepted, and its call does not wait on it", req.Suspension)
	case errors.Is(err, engine.ErrRefused) && open && !voted && w.Head.End == nil:
		t.e.wrong("QD-6: the first vote of %s on %s was refused, and nothing is decided", who, req.Suspension)
	}
	if err == nil {
		t.accepted[req.InboxKey] = req.Signal
		t.count(q, who, req.Signal)
	}
	return w, err
}

func (t *teller) count(q *ballotBox, who string, s core.Signal) {
	var r core.Resume
	_ = json.Unmarshal(s.Value, &r)
	switch {
	case r.Action == core.ActionCancel:
		q.no = append(q.no, who)
	case !core.IsNull(r.Arguments):
		q.edited = who
	default:
		q.yes = append(q.yes, who)
	}
}

// spent says whether a person has approved an earlier stage of the same question.
func (t *teller) spent(q *ballotBox, who string) bool {
	for before := t.questions[q.Follows]; before != nil && before.edited == "" && before.Stage < q.Stage; before = t.questions[before.Follows] {
		if slices.Contains(before.yes, who) {
			return true
		}
	}
	return false
}

// UpdateHead is the second half of a commit.
func (t *teller) UpdateHead(req engine.CommitRequest) (engine.Written, error) {
	before, _ := t.Memory.Load(context.Background(), req.Next.Tenant, req.Next.Thread)
	w, err := t.Memory.UpdateHead(req)
	if err != nil || before.Rev != req.Next.Rev-1 {
		return w, err
	}
	if req.Segment != nil {
		t.read(*req.Segment)
	}
	t.closes(before.Calls["c1"], w.Head)
	return w, nil
}

// read learns what a commit has journaled.
func (t *teller) read(seg core.Segment) {
	for _, e := range seg.Events {
		if call, ok := core.SuspendedIn(e); ok && call.Counted() {
			t.ask(call)
		}
		var rec core.DecisionRecord
		if e.Type != core.EventDecisionRecorded || json.Unmarshal(e.Data, &rec) != nil {
			continue
		}
		if rec.Ballot != nil {
			t.journaled[core.VoteKey(rec.Ballot.Key, rec.Suspension)]++
		}
		if q := t.questions[rec.Suspension]; q != nil && rec.TimedOut && !q.open() {
			t.e.wrong("QD-4: the deadline of %s overrode votes that had decided", rec.Suspension)
		}
	}
}

// ask notes a question. The person who wrote its arguments has approved them, if its group has
// that person.
func (t *teller) ask(call core.SuspendedCall) {
	q := &ballotBox{SuspendedCall: call}
	before := t.questions[call.Follows]
	if before != nil && before.edited != "" {
		need := call.Policy.At(0).Need
		member := slices.Contains(call.Policy.At(0).Group.Entries(), "token:"+before.edited)
		switch {
		case call.Stage == 0 && member && need > 1:
			q.yes = []string{before.edited}
		case call.Stage == 1 && member && need == 1:
			q.Follows = "edit of " + call.Follows
			t.questions[q.Follows] = &ballotBox{SuspendedCall: before.SuspendedCall, yes: []string{before.edited}, closed: true}
			t.questions[q.Follows].Stage = 0
		}
		if before.edited != "" && call.Stage == 0 {
			q.Follows = ""
		}
	}
	t.questions[call.Suspension.ID] = q
}

// closes judges a commit after which a question is closed: every vote that was accepted is
// journaled.
func (t *teller) closes(was core.Call, h core.Head) {
	q := t.questions[was.Sus]
	if q == nil || was.Status != core.CallSuspended || h.Calls["c1"].WaitsOn(was.Sus) {
		return
	}
	q.closed = true
	for key, s := range t.accepted {
		if _, sus := core.VoteOf(key); sus == was.Sus && t.journaled[key] == 0 {
			if _, waits := h.Inbox[key]; waits && q.openBut() {
				t.e.wrong("rule K: the vote of %s was accepted, and %s was closed without it", s.By, was.Sus)
			}
		}
	}
}

// openBut says whether the votes alone would have left the question open.
func (q *ballotBox) openBut() bool {
	stage := q.Policy.At(q.Stage)
	return q.edited == "" && len(q.yes) < stage.Need && len(q.no) < stage.Deny()
}

// mayRun is QD-1 at the moment in which the body starts: for each stage, enough different people
// have approved these arguments, and none of them in two stages.
func (t *teller) mayRun(call core.ToolCall) {
	used := map[string]bool{}
	policy := t.e.policy
	for i, stage := range policy.Stages {
		var people []string
		for _, q := range t.questions {
			if q.Stage == i && string(q.Pending.Arguments) == string(call.Arguments) && len(q.yes) >= stage.Need && len(q.no) < stage.Deny() {
				people = q.yes
			}
			if i == 0 && len(people) == 0 && q.edited != "" && stage.Need == 1 && slices.Contains(stage.Group.Entries(), "token:"+q.edited) {
				people = []string{q.edited}
			}
		}
		distinct := map[string]bool{}
		for _, who := range people {
			distinct[who] = !used[who] && slices.Contains(stage.Group.Entries(), "token:"+who)
		}
		n := 0
		for who, counts := range distinct {
			if used[who] = true; counts {
				n++
			}
		}
		if n < stage.Need {
			t.e.wrong("QD-1: %s ran, and %v approved stage %d", call.Arguments, slices.Sorted(maps.Keys(distinct)), i+1)
		}
	}
}

// close judges what is left: each accepted vote is journaled once, and no count is left behind.
func (t *teller) close(ctx context.Context) {
	for key, s := range t.accepted {
		if n := t.journaled[key]; n != 1 {
			t.e.wrong("QD-2: the vote of %s (%s) is %d times in the journal", s.By, key, n)
		}
	}
	thread, _ := core.ThreadOf(t.e.run)
	if h, err := t.Load(ctx, "t", thread); err == nil && len(h.Votes) > 0 {
		t.e.wrong("rule W: a run that is done has counts left: %v", h.Votes)
	}
}
