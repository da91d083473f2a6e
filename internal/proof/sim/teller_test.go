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
	moments   *moments
	// questions that one person decides, or no one in time, and that let the call run
	single map[string]bool
}

// ballotBox is one question and who has said what, in the order in which the store accepted it.
type ballotBox struct {
	*waitsFor
	yes, no []string // people
	edited  string   // the person who wrote other arguments, or the same ones
	closed  bool
	number  int // in the order of asking
}

func newTeller(e *election, m *sim.Memory) *teller {
	return &teller{Memory: m, e: e, questions: map[string]*ballotBox{}, accepted: map[string]core.Signal{}, journaled: map[string]int{},
		moments: newMoments(e.wrong, e.faults.Counts), single: map[string]bool{}}
}

// person is who a caller is: a token, or the same person's second one.
func person(by string) string { return strings.TrimSuffix(strings.TrimPrefix(by, "token:"), "2") }

func (q *ballotBox) open() bool {
	stage := q.asks()
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

// spent says whether a person has approved an earlier stage of the same question. What was said to
// a group that another one replaced does not count.
func (t *teller) spent(q *ballotBox, who string) bool {
	after := q
	for before := t.questions[q.Follows]; before != nil && before.edited == "" && before.Stage <= after.Stage; before = t.questions[before.Follows] {
		if before.Stage < after.Stage && slices.Contains(before.yes, who) {
			return true
		}
		after = before
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
		t.moments.read(before, *req.Segment)
		t.read(*req.Segment)
	}
	t.closes(before.Calls["c1"], w.Head)
	if id, first := t.moments.due(w.Head); w.Head.Status == core.RunWaiting && (w.Head.Deadline != first || first != 0 && w.Head.Due == 0) {
		t.e.wrong("I-5: the run waits until %d and is due at %d; something is due about %q at %d", w.Head.Deadline, w.Head.Due, id, first)
	}
	return w, nil
}

// read learns what a commit has journaled.
func (t *teller) read(seg core.Segment) {
	for _, e := range seg.Events {
		if call, ok := core.SuspendedIn(e); ok && call.Counted() {
			t.ask(t.moments.of[call.Suspension.ID])
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
		if q := t.moments.of[rec.Suspension]; q != nil && rec.Ballot == nil && q.CallID == "c1" {
			t.decided(q, rec, e.At)
		}
	}
}

// decided judges a decision that is no vote: of one person of the group that is asked, or of a
// deadline, which approves only where the policy says so.
func (t *teller) decided(q *waitsFor, rec core.DecisionRecord, at int64) {
	limit := q.Policy.Deadline
	switch approves := rec.Action == core.ActionResume && rec.Error == "" && rec.Applied; {
	case rec.Silent && (!rec.TimedOut || !approves || limit == nil || !limit.Approve || q.NotBy != "" || q.Counted() || q.Deadline > at):
		t.e.wrong("silence decided about %s at %d: %s", rec.Suspension, at, core.Encode(q.SuspendedCall))
	case rec.Silent:
		t.e.faults.Counts["approved by silence"]++
		t.single[rec.Suspension] = true
	case rec.TimedOut && approves:
		t.e.wrong("the deadline of %s approved it", rec.Suspension)
	case rec.TimedOut || !approves:
	case q.Counted() || !slices.Contains(q.members(), rec.By):
		t.e.wrong("QD-1: %s alone approved %s, which %v decide", rec.By, rec.Suspension, q.members())
	default:
		t.single[rec.Suspension] = true
	}
}

// ask notes a question. The person who wrote its arguments has approved them, if its group has
// that person.
func (t *teller) ask(call *waitsFor) {
	q := &ballotBox{waitsFor: call, number: len(t.questions)}
	before := t.questions[call.Follows]
	if before != nil && before.edited == "" && before.Stage == q.Stage {
		t.e.faults.Counts["questions asked of another group"]++
	}
	if before != nil && before.edited != "" {
		need := call.Policy.At(0).Need
		member := slices.Contains(before.members(), "token:"+before.edited) && slices.Contains(call.first(), "token:"+before.edited)
		switch {
		case call.Stage == 0 && member && need > 1:
			q.yes = []string{before.edited}
		case call.Stage == 1 && member && need == 1:
			q.Follows = "edit of " + call.Follows
			first := *before.waitsFor
			first.Stage, first.Follows = 0, ""
			t.questions[q.Follows] = &ballotBox{waitsFor: &first, yes: []string{before.edited}, closed: true, number: q.number}
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
	stage := q.asks()
	return q.edited == "" && len(q.yes) < stage.Need && len(q.no) < stage.Deny()
}

// mayRun is QD-1 at the moment in which the body starts: for each stage, enough different people
// have approved these arguments, and none of them in two stages.
func (t *teller) mayRun(call core.ToolCall) {
	policy := t.e.policy
	if !policy.Counts() {
		if len(t.single) == 0 {
			t.e.wrong("I-4: %s ran, and no one approved it", call.Arguments)
		}
		return
	}
	used := map[string]bool{}
	for i, stage := range policy.Stages {
		var people, members, editor, editors []string
		// the newest questions count: an edit may have written the arguments of before
		for _, q := range slices.SortedFunc(maps.Values(t.questions), func(a, b *ballotBox) int { return a.number - b.number }) {
			if q.Stage == i && string(q.Pending.Arguments) == string(call.Arguments) && len(q.yes) >= stage.Need && len(q.no) < q.asks().Deny() {
				people, members = q.yes, q.members()
			}
			if i == 0 && q.edited != "" && stage.Need == 1 && slices.Contains(q.first(), "token:"+q.edited) {
				editor, editors = []string{q.edited}, q.first()
			}
		}
		if len(people) == 0 {
			people, members = editor, editors
		}
		distinct := map[string]bool{}
		for _, who := range people {
			distinct[who] = !used[who] && slices.Contains(members, "token:"+who)
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
