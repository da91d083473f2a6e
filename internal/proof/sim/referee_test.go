package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/holds"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// referee knows the rules a second time, in the plainest words: what a caller should be told at any
// one moment. It sees each head that any write left, and no code of the frontend. An answer is
// right if it was so at some moment between the question and the answer.
type referee struct {
	s       *stage
	threads map[string]*ledger
}

// ledger is the history of one thread.
type ledger struct {
	moments     []moment
	suspensions map[string]asked
	recorded    map[string]record
	stored      map[string]*question // the decision that was first, by suspension
	held        held
	texts       map[string]bool   // messages that were stored
	cancelled   map[string]bool   // runs that ended so
	pauses      map[string]bool   // interrupts that were stored, by run and key
	bodies      map[string]string // by suspension and id: what was decided under it
	roll        roll
}

// moment is what is true of a thread between two writes.
type moment struct {
	run     string
	over    bool // nothing is accepted for the run any more
	done    bool
	waiting bool
	refuses bool              // a message, unless it says what becomes of what waits
	newest  map[string]string // the last suspension of each call of the round
	waits   map[string]bool   // suspensions that calls wait on
	inbox   map[string]bool   // suspensions whose decision is not taken up yet
}

// asked is a suspension: of whom, and from which moment on.
type asked struct {
	run, call, tool string
	kind            core.Kind
	question        bool // its answer becomes the call's result, which the model reads
	from            int
}

// record is what the journal says of a suspension, from which moment on.
type record struct {
	core.DecisionRecord
	from int
}

// question is one request and the moment in which it was sent.
type question struct {
	who      frontend.Caller
	run      string
	decision wire.Decision
	text     string // of a message
	from     int
}

type questionKey struct{}

func newReferee(s *stage) *referee { return &referee{s, map[string]*ledger{}} }

func (r *referee) thread(id string) *ledger {
	if r.threads[id] == nil {
		r.threads[id] = &ledger{suspensions: map[string]asked{}, recorded: map[string]record{}, stored: map[string]*question{}, texts: map[string]bool{}, cancelled: map[string]bool{}, pauses: map[string]bool{}, bodies: map[string]string{}, roll: newRoll(), held: newHeld()}
	}
	return r.threads[id]
}

func (l *ledger) now() int { return len(l.moments) - 1 }

// saw begins a moment.
func (r *referee) saw(h core.Head) {
	m := moment{run: h.Run, over: h.End != nil || !h.Open(), done: !h.Open(), waiting: h.Status == core.RunWaiting && len(h.Inbox) == 0,
		newest: map[string]string{}, waits: map[string]bool{}, inbox: map[string]bool{}}
	for id, c := range h.Calls {
		m.newest[id] = c.Sus
		if c.Status == core.CallSuspended {
			m.waits[c.Sus] = true
			kind := r.s.watched.kinds[c.Sus]
			// which a message answers
			m.refuses = m.refuses || kind != core.KindInput && kind != core.KindInterrupt
		}
	}
	for key := range h.Inbox {
		m.inbox[key] = true
	}
	l := r.thread(h.Thread)
	if h.End != nil && h.End.Kind == core.Cancelled {
		l.cancelled[h.Run] = true
	}
	l.moments = append(l.moments, m)
}

// read learns what a segment says; it counts from the moment that follows.
func (r *referee) read(thread string, seg core.Segment) {
	l := r.thread(thread)
	for _, e := range seg.Events {
		var call core.SuspendedCall
		var rec core.DecisionRecord
		switch {
		case e.Type == core.EventCallSuspended && json.Unmarshal(e.Data, &call) == nil:
			l.suspensions[call.Suspension.ID] = asked{e.RunID, call.CallID, call.ToolName, call.Kind, r.s.isQuestion(call.Kind, call.ResumeMode, call.ToolName), len(l.moments)}
		case e.Type == core.EventDecisionRecorded && json.Unmarshal(e.Data, &rec) == nil && !rec.Late:
			l.recorded[rec.Suspension] = record{rec, len(l.moments)}
		}
	}
	r.names(l, seg)
}

// stored learns whose decision was first: that of the request in whose name the store was written.
// A request is stored once, wherever it might fit.
func (r *referee) stored(ctx context.Context, thread, run, sus string) {
	q, ok := ctx.Value(questionKey{}).(*question)
	if !ok {
		return
	}
	l := r.thread(thread)
	l.stored[sus] = q
	l.held.stored(sus, q, len(l.moments))
	if id := q.decision.DecisionID; id != "" {
		if on := l.bodies[run+"/"+id]; on != "" && on != sus {
			r.s.wrong("H9: decision %q of %s was stored for %s, and for %s before", id, run, sus, on)
		}
		l.bodies[run+"/"+id] = sus
	}
}

// paused learns of an interrupt.
func (r *referee) paused(thread, run, key string) {
	l := r.thread(thread)
	if l.pauses[run+"/"+key] {
		r.s.wrong("the interrupt %s of %s was stored twice", key, run)
	}
	l.pauses[run+"/"+key] = true
}

// begun learns that a run was started, and by whom. One that a queued message begins was started by
// the run before it.
func (r *referee) begun(ctx context.Context, req engine.StartRequest) {
	if start, ok := req.Head.Inbox[core.KeyStart]; ok && !req.Owned {
		r.sent(ctx, req.Head.Tenant, req.Head.Thread, req.Head.Run, core.KeyStart, start)
	}
	r.texted(ctx, req.Head.Thread)
}

// passed says whether the deadline of a suspension may be over by some clock.
func (r *referee) passed(sus string) bool {
	at := r.s.watched.deadlines[sus]
	return at != 0 && r.s.w.Now().Add(r.s.plan.skew).UnixMilli() >= at
}

// texted learns that a message was stored.
func (r *referee) texted(ctx context.Context, thread string) {
	if q, ok := ctx.Value(questionKey{}).(*question); ok {
		r.thread(thread).texts[q.text] = true
	}
}

// told is an answer to a decision in short.
type told struct {
	code    refusal.Code // accepted is one
	same    bool
	applied bool   // of the same decision, once it is in the journal
	winner  string // the id of another decision
}

func (t told) String() string {
	return fmt.Sprintf("%s (same %v, applied %v, winner %q)", t.code, t.same, t.applied, t.winner)
}

// named is the rule for decisions that name a suspension or a call. A call means the suspension it
// had, if that was one.
func (l *ledger) named(at int, q *question) (is []told) {
	if _, byID := core.SuspensionSeq(q.decision.Target); byID {
		return []told{l.decide(at, q)}
	}
	var had []string
	for sus, s := range l.suspensions {
		if s.call == q.decision.Target && s.run == q.run && s.from <= at {
			had = append(had, sus)
		}
	}
	switch len(had) {
	case 0:
		return []told{{code: refusal.CodeNotSuspended}, {code: refusal.CodeCallNotFound}}
	case 1:
		meant := *q
		meant.decision.Target = had[0]
		return []told{l.decide(at, &meant)}
	}
	return []told{{code: refusal.CodeSuspensionIDRequired}}
}

// decide is the rule for a suspension.
func (l *ledger) decide(at int, q *question) told {
	m, sus := l.moments[at], q.decision.Target
	s, known := l.suspensions[sus]
	rec, decided := l.recorded[sus]
	first := l.stored[sus]
	switch {
	case !known || s.from > at || s.run != q.run:
		return told{code: refusal.CodeCallNotFound}
	case m.run == q.run && (m.waits[sus] || m.inbox[sus]) && l.held.undone(sus, q.decision.DecisionID, at):
		return told{code: refusal.CodeDecisionWithdrawn}
	case m.run == q.run && m.inbox[sus]:
		first := l.held.at(sus, at)
		if first.decision.Hold > 0 && holds.Of(first.who.By, first.who.Link) != holds.Of(q.who.By, q.who.Link) {
			// it may be withdrawn, so that no other person's answer is its repeat
			return told{code: refusal.CodeAlreadyDecided, winner: idOf(first.decision)}
		}
		return l.compared(first, q, false)
	case decided && rec.from <= at && rec.TimedOut:
		return told{code: refusal.CodeLateDecision}
	case decided && rec.from <= at && first == nil:
		// the run itself decided, or a message did
		return told{code: refusal.CodeAlreadyDecided, winner: rec.DecisionID}
	case decided && rec.from <= at:
		return l.compared(first, q, rec.Applied)
	case m.run != q.run || m.over:
		return told{code: refusal.CodeRunDone}
	case m.waits[sus]:
		return told{code: refusal.CodeAccepted}
	case m.newest[s.call] != "" && m.newest[s.call] != sus:
		return told{code: refusal.CodeStaleSuspension}
	}
	return told{code: refusal.CodeNotSuspended}
}

func (l *ledger) compared(first, q *question, applied bool) told {
	if sameDecision(first.decision, q.decision) {
		return told{code: refusal.CodeAlreadyDecided, same: true, applied: applied}
	}
	return told{code: refusal.CodeAlreadyDecided, winner: idOf(first.decision)}
}

// sameDecision: the same words under the same id, whatever their senders were shown.
func sameDecision(a, b wire.Decision) bool {
	a.Target, b.Target = "", ""
	a.Shown, b.Shown = "", ""
	a.Hold, b.Hold = 0, 0
	return string(core.Encode(a)) == string(core.Encode(b))
}

// idOf is how a decision is known; one without an id has one of the server's making.
func idOf(d wire.Decision) string {
	if d.DecisionID == "" {
		return "?"
	}
	return d.DecisionID
}

// About what a decision says, and not when: a decision that is refused so is never stored.
var aboutContent = []refusal.Code{refusal.CodeInvalid, refusal.CodeBadAction, refusal.CodeUnclearDecision, refusal.CodeWrongKind,
	refusal.CodeContradiction, refusal.CodeResultRequired, refusal.CodeBadGrant, refusal.CodeInvalidArguments, refusal.CodeSchemaMismatch}

// decided holds an answer against the rules.
func (r *referee) decided(thread string, q *question, answer wire.DecisionAnswer, err error) {
	l := r.thread(thread)
	sus := q.decision.Target
	if l.now() < 0 {
		return
	}
	was, refused := heard(answer, err)
	if refused {
		return
	}
	if was.code == refusal.CodeNotAnApprover || was.code == refusal.CodeSeparationOfDuties {
		r.refusedFor(l, q, was.code)
		return
	}
	if was.code == refusal.CodeLateDecision && q.who.Link != nil && r.passed(sus) {
		return // a link is over at the deadline of its call, used or not
	}
	if was.code == refusal.CodeChanged {
		if !strings.HasPrefix(q.decision.DecisionID, mistaken) {
			r.s.wrong("decision %q on %s was refused as changed, and its sender read that question", q.decision.DecisionID, sus)
		}
		return
	}
	if was.code == refusal.CodeDecisionWithdrawn && l.held.undone(sus, q.decision.DecisionID, l.now()) {
		return // of a call that has gone on, too, as long as the head knows
	}
	if slices.Contains(aboutContent, was.code) || was.code == refusal.CodeHoldUnavailable && q.decision.Hold > 0 {
		if l.stored[sus] == q {
			r.s.wrong("a decision on %s was refused as %s, and stored", sus, was.code)
		}
		return
	}
	var should []string
	for at := max(q.from, 0); at <= l.now(); at++ {
		for _, is := range l.named(at, q) {
			if is == was || is.winner == "?" && is.code == was.code {
				return
			}
			should = append(should, is.String())
		}
	}
	r.s.wrong("decision %q on %s of %s was answered %s; the rules say %s", q.decision.DecisionID, sus, q.run, was, slices.Compact(should))
}

// heard is what a caller was told; refused if that is no answer at all.
func heard(answer wire.DecisionAnswer, err error) (was told, refused bool) {
	var e *refusal.Error
	switch {
	case err == nil:
		return told{code: refusal.Code(answer.Code), same: answer.Same != nil && *answer.Same, applied: answer.Applied != nil && *answer.Applied}, false
	case temporary(err) || !errors.As(err, &e):
		return was, true
	}
	was = told{code: e.Code, same: e.Same != nil && *e.Same}
	if e.Winner != nil {
		was.winner = e.Winner.DecisionID
	}
	return was, false
}

// closing is the rule for a cancel or an interrupt: taken as long as the run takes anything. The
// end that a cancel asks for is there once the run has it.
func (r *referee) closing(thread, what, run, key string, from int, err error) {
	taken, refused := err == nil, code(err) == refusal.CodeRunDone
	if l := r.thread(thread); temporary(err) || taken && (what == cancelling && l.cancelled[run] || what == pausing && l.pauses[run+"/"+key]) {
		return
	}
	r.holds(thread, from, taken || refused, fmt.Sprintf("%s of %s was answered %v", what, run, err), func(m moment) bool {
		return taken == (m.run == run && !m.over)
	})
}

const (
	cancelling = "the cancel"
	pausing    = "the interrupt"
)

// message is the rule for one that says nothing about what waits. One that was stored is known by
// its key from then on.
func (r *referee) message(thread string, q *question, err error) {
	taken, refused := err == nil, code(err) == refusal.CodeRunOpen
	if code(err) == refusal.CodeNotAStarter {
		return // which the caller looks at
	}
	if taken && r.thread(thread).texts[q.text] || temporary(err) {
		return
	}
	r.holds(thread, q.from, taken || refused, fmt.Sprintf("message %q was answered %v", q.text, err), func(m moment) bool {
		return refused && !m.over && m.refuses
	})
}

// shown is the rule for reading a run.
func (r *referee) shown(thread string, from int, run wire.Run) {
	pending := map[string]bool{}
	for _, p := range run.Pending {
		pending[p.Suspension.ID] = true
		r.pending(run.ID, p)
	}
	r.holds(thread, from, true, fmt.Sprintf("%s was shown as %s, waiting on %v", run.ID, run.Status, slices.Sorted(maps.Keys(pending))), func(m moment) bool {
		if m.run != run.ID || m.done {
			return run.Status == core.RunDone.String() && len(pending) == 0
		}
		open := maps.Clone(m.waits)
		maps.DeleteFunc(open, func(sus string, _ bool) bool { return m.inbox[sus] })
		return run.Status != core.RunDone.String() && (run.Status == core.RunWaiting.String()) == m.waiting && maps.Equal(open, pending)
	})
}

// pending is the rule for what a person is shown: the call as the model asked for it, or with the
// arguments that somebody gave it, and the question as it was asked.
func (r *referee) pending(run string, p wire.Pending) {
	w, what := r.s.watched, run+"/"+p.CallID
	asked := w.asked[what]
	fits := p.Tool == asked.Name && (string(p.Arguments) == string(asked.Arguments) || string(p.Arguments) == string(w.edited[what]))
	if p.Kind != core.KindInterrupt.String() && !fits {
		r.s.wrong("somebody was shown %s as %s %s, and the model asked for %s %s", what, p.Tool, p.Arguments, asked.Name, asked.Arguments)
	}
	if sus := p.Suspension.ID; p.Kind != w.kinds[sus].String() || p.Suspension.Message != w.messages[sus] {
		r.s.wrong("%s was shown as %s: %q, and is %s: %q", sus, p.Kind, p.Suspension.Message, w.kinds[sus], w.messages[sus])
	}
}

// holds demands that a rule holds at some moment since from.
func (r *referee) holds(thread string, from int, known bool, what string, rule func(moment) bool) {
	l := r.thread(thread)
	if !known || l.now() < 0 || slices.ContainsFunc(l.moments[max(from, 0):], rule) {
		return
	}
	r.s.wrong("%s; at no moment was that so: %+v", what, l.moments[max(from, 0):])
}
