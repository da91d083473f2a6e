package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/planner"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// roll is who did what in a thread, as the store was written. It knows the senders from the [desk],
// not from what was stored.
type roll struct {
	// of signals that were stored, by run and place in the inbox
	senders map[string]frontend.Caller
	said    map[string]frontend.Caller // of messages and starts, by their text
	asks    []asking                   // who asked for work
}

// asking is one principal who asked for work, and the moment from which on that is known.
type asking struct {
	by   string
	from int
}

func newRoll() roll {
	return roll{senders: map[string]frontend.Caller{}, said: map[string]frontend.Caller{}}
}

func (l *ledger) asks(by string) {
	l.roll.asks = append(l.roll.asks, asking{by, len(l.moments)})
}

// askers are all who had asked for the work of a thread by a moment.
func (l *ledger) askers(by int) (all []string) {
	for _, a := range l.roll.asks {
		if a.from <= by {
			all = append(all, a.by)
		}
	}
	return all
}

// sent learns who sent a signal that was stored, and holds what was stored against it.
func (r *referee) sent(ctx context.Context, tenant, thread, run, key string, signal core.Signal) {
	req, known := requestOf(ctx)
	who := req.who
	switch {
	case !known:
		r.s.wrong("nobody sent the signal %s of %s, and it was stored", core.Encode(signal), run)
		return
	case who.Tenant != tenant:
		r.s.wrong("a caller of tenant %q wrote into %s of tenant %q: %s", who.Tenant, run, tenant, core.Encode(signal))
	case signal.By != who.By || signal.Via != who.Via:
		r.s.wrong("%q sent a signal by %q, and it was stored as %q by %q", who.By, who.Via, signal.By, signal.Via)
	}
	l := r.thread(thread)
	l.roll.senders[seat(run, key, signal)] = who
	if l.suspensions[strings.TrimPrefix(key, core.LateKey(""))].question && (signal.Kind == core.SignalDecision || signal.Kind == core.SignalLate) {
		l.asks(who.By)
		if made := maker(who); made != "" {
			l.asks(made)
		}
	}
	if signal.Kind != core.SignalStart && signal.Kind != core.SignalMessage {
		return
	}
	if !r.s.plan.people.starters.has(who.By) {
		r.s.wrong("%q is no starter, and its %s %q of %s was stored", who.By, signal.Kind, req.text, run)
	}
	l.roll.said[req.text] = who
	l.asks(who.By)
}

// seat is what a signal is known by. Interrupts follow one another on one place of the inbox.
func seat(run, key string, signal core.Signal) string {
	if signal.Kind == core.SignalPause {
		return run + "/interrupt/" + signal.ID
	}
	return run + "/" + key
}

// names holds every name in a segment against who really sent what it tells.
func (r *referee) names(l *ledger, seg core.Segment) {
	var received []string
	for _, e := range seg.Events {
		switch e.Type {
		case core.EventMessageReceived:
			received = append(received, byOf(e))
		case core.EventMessageQueued:
			r.queuedBy(l, e)
		case core.EventInterruptRecorded:
			r.signedBy(l, e, "/interrupt/"+idIn(e))
		case core.EventCancelRecorded:
			r.signedBy(l, e, "/"+core.KeyCancel)
		case core.EventDecisionRecorded:
			r.decidedBy(l, e)
		}
	}
	opener := map[string]string{}
	for _, m := range seg.Messages {
		if m.Role == core.RoleUser {
			received = r.saidBy(l, m, received)
			if _, there := opener[m.RunID]; !there {
				opener[m.RunID] = l.roll.said[m.Text()].By
			}
		}
	}
	for _, e := range seg.Events {
		if e.Type != core.EventRunStarted {
			continue
		}
		by := opener[e.RunID]
		if who, ok := l.roll.senders[e.RunID+"/"+core.KeyStart]; ok {
			by = who.By
		}
		r.compare(e, by)
	}
}

// compare holds the name in an event against who it is.
func (r *referee) compare(e core.Event, by string) {
	if byOf(e) != by {
		r.s.wrong("%q did it, and the journal says %s %s", by, e.Type, e.Data)
	}
}

func (r *referee) signedBy(l *ledger, e core.Event, key string) {
	who, ok := l.roll.senders[e.RunID+key]
	if !ok {
		r.s.wrong("nobody sent what the journal of %s says: %s %s", e.RunID, e.Type, e.Data)
		return
	}
	r.compare(e, who.By)
}

func (r *referee) queuedBy(l *ledger, e core.Event) {
	var m struct{ Parts []core.Part }
	_ = json.Unmarshal(e.Data, &m)
	r.compare(e, l.roll.said[core.Message{Parts: m.Parts}.Text()].By)
}

// saidBy holds a user's message, and the next of the events that tell of one, against who sent it.
// Whoever sent it asked for the work of the run that has it now: a queued message begins a run of
// its own.
func (r *referee) saidBy(l *ledger, m core.Message, received []string) (rest []string) {
	who, known := l.roll.said[m.Text()]
	if !known {
		r.s.wrong("nobody said %q, and %s has it", m.Text(), m.RunID)
	}
	if len(received) == 0 || m.By != who.By || received[0] != who.By {
		r.s.wrong("%q said %q, and the journal says that %q did, and in its events %q", who.By, m.Text(), m.By, received)
	}
	l.asks(who.By)
	return received[min(1, len(received)):]
}

// decidedBy holds a decision against who sent it, and, where it lets a call run, against the rules
// on who may say so.
func (r *referee) decidedBy(l *ledger, e core.Event) {
	var rec core.DecisionRecord
	_ = json.Unmarshal(e.Data, &rec)
	s := l.suspensions[rec.Suspension]
	switch {
	case rec.TimedOut:
		return
	case rec.Via == planner.ViaMessage:
		if s.guarded() {
			r.s.wrong("I-4: %s of %s waits for an approval, and a message was taken for one: %s", rec.CallID, e.RunID, e.Data)
		}
		r.signedBy(l, e, "/"+rec.DecisionID)
		return
	case rec.Late:
		r.signedBy(l, e, "/"+core.LateKey(rec.Suspension))
		return
	}
	r.signedBy(l, e, "/"+rec.Suspension)
	who := l.roll.senders[e.RunID+"/"+rec.Suspension]
	if rec.MintedBy != maker(who) {
		r.s.wrong("the link of a decision on %s was made by %q, and the journal says %q", rec.Suspension, maker(who), rec.MintedBy)
	}
	q := l.stored[rec.Suspension]
	if !rec.Applied || rec.Action != core.ActionResume || rec.Error != "" || q == nil || !s.guarded() {
		return
	}
	if !r.listed(who) {
		r.s.wrong("I-4: %q is no approver, and its word on %s (%s) counted", who.By, rec.Suspension, s.tool)
	}
	if by, barred := r.barred(l, who, s, q.from); barred && !(s.kind == core.KindUnknownOutcome && slices.Contains(r.s.cast.denied, s.tool)) {
		r.s.wrong("I-4: %q asked for the work of %s, and its word on %s (%s) counted", by, s.run, rec.Suspension, s.tool)
	}
}

// guarded says whether who approves is looked at.
func (s asked) guarded() bool {
	return s.kind == core.KindApproval || s.kind == core.KindUnknownOutcome
}

// maker is who made the link that a caller answers by.
func maker(c frontend.Caller) string {
	if c.Link == nil || c.Link.Maker == "" {
		return ""
	}
	return "token:" + c.Link.Maker
}

// listed says whether somebody may say that a call runs, as far as the agent's list goes. A link
// counts as its maker, who is known by name alone.
func (r *referee) listed(c frontend.Caller) bool {
	approvers := r.s.plan.people.approvers
	if c.Link != nil {
		return len(approvers.list) == 0 || slices.Contains(approvers.byName, maker(c))
	}
	return approvers.has(c.By)
}

// barred says whether the rule that asks bars a caller because of what was asked for up to a
// moment, and who it is that bars it.
func (r *referee) barred(l *ledger, c frontend.Caller, s asked, upTo int) (by string, barred bool) {
	if !s.guarded() || !r.s.plan.people.separate(s.tool) {
		return "", false
	}
	askers := l.askers(upTo)
	if slices.Contains(askers, nameless) {
		return nameless, true
	}
	if c.By == nameless || slices.Contains(askers, c.By) {
		return c.By, true
	}
	return maker(c), c.Link != nil && (maker(c) == nameless || slices.Contains(askers, maker(c)))
}

// refusedFor holds the refusal of a decision for who sent it against the rules. Nothing of it may
// be stored.
func (r *referee) refusedFor(l *ledger, q *question, was refusal.Code) {
	r.s.faults.Counts[string(was)]++
	right := false
	for sus, s := range l.suspensions {
		if s.run != q.run || q.decision.Target != sus && q.decision.Target != s.call {
			continue
		}
		if l.stored[sus] == q {
			r.s.wrong("a decision on %s was refused as %s, and stored", sus, was)
		}
		_, barred := r.barred(l, q.who, s, l.now())
		right = right || was == refusal.CodeNotAnApprover && s.guarded() && !r.listed(q.who) || was == refusal.CodeSeparationOfDuties && barred
	}
	if right {
		return
	}
	r.s.wrong("%q may decide about %s of %s, and was told %s", q.who.By, q.decision.Target, q.run, was)
}

// checkEnds: the journal of a run that was cancelled says who did it.
func (s *stage) checkEnds(ctx context.Context, t *thread) {
	for _, rec := range s.records(ctx, t) {
		who, asked := s.referee.thread(t.id).roll.senders[rec.Run+"/"+core.KeyCancel]
		if rec.End == nil || rec.End.Kind != core.Cancelled || s.outside[rec.Run] {
			continue
		}
		if !asked || rec.End.By != who.By {
			s.wrong("%s was cancelled by %q, and its record says %q", rec.Run, who.By, rec.End.By)
		}
	}
}

func byOf(e core.Event) string {
	var who struct{ By string }
	_ = json.Unmarshal(e.Data, &who)
	return who.By
}

func idIn(e core.Event) string {
	var what struct{ ID string }
	_ = json.Unmarshal(e.Data, &what)
	return what.ID
}

func callIn(e core.Event) string {
	var what struct {
		CallID string `json:"call_id"`
	}
	_ = json.Unmarshal(e.Data, &what)
	return what.CallID
}

// Starters implements the option of the frontend.
func (s *stage) Starters(_ context.Context, def engine.Definition) ([]string, error) {
	of := s.first.stageOf(def.Tenant)
	if of == nil {
		return nil, fmt.Errorf("there is no tenant %q", def.Tenant)
	}
	return of.plan.people.starters.list, nil
}
