// Package holds stores decisions that are held, and withdraws them.
package holds

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Most is how many seconds a decision may be held.
const Most = 60

// A held decision is stored only while no worker has the run: see [engine.SignalRequest.Seen]. A
// request waits for that, but not for long.
const (
	undoTries = 8
	restTries = 10
	restPause = 100 * time.Millisecond
)

// afterwards is when the sweep looks after a hold whose wake-up got lost.
const afterwards = 5 * time.Second

// Holds stores held decisions and their withdrawals.
type Holds struct {
	*journal.Reader
	Send func(context.Context, engine.SignalRequest) (engine.Written, error)
	Wake func(ctx context.Context, tenant, thread string, woken bool)
}

// By is who decided: a principal, by a link if that is not empty.
type By struct{ Principal, Link string }

// Of is a caller; link is nil for one who has none.
func Of(principal string, link *engine.Link) By {
	if link == nil {
		return By{Principal: principal}
	}
	return By{principal, link.ID}
}

// ByLink is the id of a decision by a link. Several people may have a link that asks who answers.
// take tells an answer from those of the link that were withdrawn; empty for the first.
func ByLink(l engine.Link, by, take string) string {
	id := l.ID
	if l.Require == engine.RequireToken || l.Require == engine.RequireSignIn {
		sum := core.Digest([]byte(by))
		id += "-" + sum[len(sum)-12:]
	}
	if take != "" {
		id += "-again-" + take
	}
	return id
}

// OrAtOnce decides, and if the decision can't be held and its caller agrees, decides without a
// hold. Under the same id, it is the same decision.
func OrAtOnce(d wire.Decision, agrees bool, decide func(wire.Decision) (wire.DecisionAnswer, error)) (wire.DecisionAnswer, error) {
	answer, err := decide(d)
	if e, is := errors.AsType[*refusal.Error](err); is && e.Code == refusal.CodeHoldUnavailable && agrees {
		d.Hold = 0
		return decide(d)
	}
	return answer, err
}

// Store stores a held decision. The run is woken when the hold is over, and not later than it
// would have been anyway.
func (s Holds) Store(ctx context.Context, h core.Head, req engine.SignalRequest) (engine.Written, error) {
	switch {
	case len(hold.Withdrawn(h, req.Call, req.Suspension)) >= hold.MostWithdrawn:
		return engine.Written{}, refusal.New(refusal.CodeHoldUnavailable, "%d decisions on this suspension were withdrawn, so no further one is held; send it without hold", hold.MostWithdrawn)
	case !rests(h, req.Suspension):
		return s.atRest(ctx, h, req.Suspension)
	}
	until := time.UnixMilli(req.Signal.Hold)
	req.Seen, req.Wake = &h.Sigs, &engine.Delay{For: max(0, until.Sub(s.Clock.Now()))}
	if req.Due = until.Add(afterwards).UnixMilli(); h.Due != 0 {
		req.Due = min(req.Due, h.Due)
	}
	return s.Send(ctx, req)
}

// rests says whether no worker has the run, nor has to journal a withdrawal first.
func rests(h core.Head, sus string) bool {
	_, unread := h.Inbox[core.WithdrawnKey(sus)]
	return h.Lease == 0 && !unread
}

// atRest waits until the run rests, and answers like a store that the head has refused.
func (s Holds) atRest(ctx context.Context, h core.Head, sus string) (engine.Written, error) {
	for range restTries {
		if err := engine.Sleep(ctx, s.Clock, restPause); err != nil {
			return engine.Written{}, err
		}
		now, err := s.Load(ctx, h.Tenant, h.Thread)
		if err != nil || rests(now, sus) {
			return engine.Written{Head: now}, errors.Join(err, engine.ErrRefused)
		}
	}
	return engine.Written{}, refusal.New(refusal.CodeHoldUnavailable, "the run is working on something else, so the decision can't be held; send it without hold, or a little later")
}

// At is the time at which a decision is applied, for callers; nil: at once.
func At(until int64) *wire.Time {
	if until == 0 {
		return nil
	}
	at := wire.Millis(until)
	return &at
}

// Spent refuses a decision that was withdrawn before.
func Spent() *refusal.Error {
	return refusal.New(refusal.CodeDecisionWithdrawn, "this decision was withdrawn; to decide once more, send another decision_id")
}

// Withdraw takes a held decision back. Of the withdrawal and the commit that applies the decision,
// the store lets one happen.
func (s Holds) Withdraw(ctx context.Context, tenant string, by By, sus, decision string) (wire.DecisionAnswer, error) {
	p, err := s.SuspensionPlace(ctx, tenant, sus)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	asked, err := s.FindSuspension(ctx, p, sus)
	if errors.Is(err, journal.ErrNoSuspension) {
		err = refusal.New(refusal.CodeCallNotFound, "the run has no suspension with this id")
	}
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	answer := wire.DecisionAnswer{Code: string(refusal.CodeWithdrawn), Target: sus, CallID: asked.CallID, DecisionID: decision}
	for range undoTries {
		held, there := p.Head.Inbox[sus]
		if !p.Current || !there || held.ID != decision || held.Hold == 0 {
			return answer, s.whyNotHeld(ctx, p, asked.CallID, sus, decision)
		}
		if held.By != by.Principal || held.Link != by.Link {
			return wire.DecisionAnswer{}, refusal.New(refusal.CodeNotYourDecision, "another caller has made this decision")
		}
		w, err := s.withdraw(ctx, p.Head, sus, held)
		if err == nil {
			s.Wake(ctx, tenant, p.Head.Thread, w.Woken)
			return answer, nil
		}
		if !errors.Is(err, engine.ErrRefused) {
			return wire.DecisionAnswer{}, err
		}
		if p, err = s.Find(ctx, tenant, p.Record.Run); err != nil {
			return wire.DecisionAnswer{}, err
		}
	}
	return wire.DecisionAnswer{}, refusal.New(refusal.CodeUnavailable, "the run is changing too fast; send the request again")
}

func (s Holds) withdraw(ctx context.Context, h core.Head, sus string, decision core.Signal) (engine.Written, error) {
	held, now := engine.Held{Suspension: sus, ID: decision.ID, Until: decision.Hold}, s.Clock.Now()
	decision.Kind, decision.Sus, decision.Hold = core.SignalWithdrawn, sus, now.UnixMilli()
	return s.Send(ctx, engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: core.WithdrawnKey(sus), Signal: decision,
		Undoes: &held, Due: now.Add(afterwards).UnixMilli(), Wake: &engine.Delay{}})
}

// whyNotHeld says why a decision can't be withdrawn; nil if it was.
func (s Holds) whyNotHeld(ctx context.Context, p journal.Place, call, sus, decision string) error {
	applied := refusal.New(refusal.CodeDecisionApplied, "the decision has taken effect, or is about to")
	if p.Current && slices.Contains(hold.Withdrawn(p.Head, call, sus), decision) {
		return nil
	}
	if stored, there := p.Head.Inbox[sus]; p.Current && there && stored.ID == decision {
		return applied
	}
	was, err := s.inJournal(ctx, p, sus, decision)
	switch {
	case err != nil || was == withdrawn:
		return err
	case was == recorded:
		return applied
	case was == overtaken:
		return refusal.New(refusal.CodeRunDone, "the run ended before the decision took effect")
	}
	return refusal.New(refusal.CodeDecisionNotFound, "the suspension has no decision %q; check its id", decision)
}

// What the journal says of a decision.
const (
	unknown = iota
	recorded
	overtaken // by the end of the run
	withdrawn
)

func (s Holds) inJournal(ctx context.Context, p journal.Place, sus, decision string) (was int, err error) {
	seq, _ := core.SuspensionSeq(sus)
	err = s.Journal(ctx, p, seq, func(segment core.Segment) bool {
		for _, e := range segment.Events {
			var rec core.DecisionRecord
			var undone events.Withdrawn
			switch {
			case e.Type == core.EventDecisionRecorded && json.Unmarshal(e.Data, &rec) == nil && rec.Suspension == sus && rec.DecisionID == decision && rec.Applied:
				was = recorded
			case e.Type == core.EventDecisionRecorded && rec.Suspension == sus && rec.DecisionID == decision:
				was = overtaken
			case e.Type == core.EventDecisionWithdrawn && json.Unmarshal(e.Data, &undone) == nil && undone.Suspension == sus && undone.DecisionID == decision:
				was = withdrawn
			}
		}
		return was == unknown
	})
	return was, err
}
