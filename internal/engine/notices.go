package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

// Subscribers says who is notified of what happens in a run. What it says of a run may change while
// the run waits.
type Subscribers interface {
	// Of returns the subscriptions to a run. [ErrUnavailable] if they can't be read now. With
	// any other error they can't be read at all, and the run ends, unnotified.
	Of(ctx context.Context, h core.Head) ([]notice.Subscription, error)
}

// subscribe reads who is notified of what happens in this activation, and again when there is news
// of that. A commit notes what they are owed: a subscription that is made later gets nothing that
// was committed before. A crash loop ends without notices if the subscribers are to blame.
func (a *activation) subscribe(ctx context.Context) (err error) {
	if a.e.o.Subscribers == nil || a.view.Put > 1 && !notice.HasNews(a.view.Head) {
		return nil
	}
	h := a.view.Head
	a.subscriptions, err = retrying(ctx, a.e, func() ([]notice.Subscription, error) { return a.e.o.Subscribers.Of(ctx, h) })
	if err != nil && !errors.Is(err, ErrUnavailable) && h.Tries > a.e.o.Limits.Claims {
		a.e.o.Logger.Error("cannot read who is notified of a run; the run ends without notices", "run", h.Run, "thread", h.Thread, "error", err)
		a.subscriptions, err = nil, nil
	}
	a.view.Notices = notice.All(a.subscriptions)
	return err
}

// handOver gives the committed events from one on to the lines of their subscribers, in the order
// of the journal: an endpoint's line takes none that is older than its newest. A notice that was
// handed over before, by an owner that was lost since, is refused there and is no error. A line
// that can't be written gets no later event either, and keeps no other endpoint from being
// notified.
func (a *activation) handOver(ctx context.Context, out core.Out) error {
	segments, err := a.journal(ctx, out.Seq)
	if err != nil {
		return err
	}
	l := lines{woken: map[string]bool{}, failed: map[string]error{}}
	for _, s := range segments {
		for _, e := range s.Events {
			if e.Seq >= out.Event {
				a.handOverTo(ctx, s.Seq, e, l)
			}
		}
	}
	for _, endpoint := range slices.Sorted(maps.Keys(l.woken)) {
		if !l.woken[endpoint] {
			a.wakeLine(ctx, endpoint)
		}
	}
	return errors.Join(slices.Collect(maps.Values(l.failed))...)
}

// lines are the lines that a run hands notices over to, by endpoint.
type lines struct {
	woken  map[string]bool // each event woke it; false: it has to be woken
	failed map[string]error
}

// down says that no line can be written: what failed for two, and for none succeeded, would fail
// for all, each after its retries.
func (l lines) down() bool { return len(l.failed) > 1 && len(l.woken) == 0 }

// handOverTo gives one event to each of its subscribers.
func (a *activation) handOverTo(ctx context.Context, seq int64, e core.Event, l lines) {
	h := a.view.Head
	for _, s := range a.subscriptions {
		kind, subscribed := s.On.Of(e)
		if !subscribed || l.failed[s.Endpoint] != nil || l.down() {
			continue
		}
		req := HandOver{Key: notice.Key{Tenant: h.Tenant, Thread: h.Thread, Endpoint: s.Endpoint}, Event: e.Seq, Kind: kind, Seq: seq, Now: a.now(), Wake: true}
		woken, err := retrying(ctx, a.e, func() (bool, error) { return a.e.o.Lines.HandOver(ctx, req) })
		if err != nil {
			l.failed[s.Endpoint] = fmt.Errorf("endpoint %s: %w", s.Endpoint, err)
			continue
		}
		before, some := l.woken[s.Endpoint]
		l.woken[s.Endpoint] = woken && (before || !some)
	}
}

// wakeLine sends the wake-up of a line. It is a hint: the line is due, and the sweep finds it.
func (a *activation) wakeLine(ctx context.Context, endpoint string) {
	w := Wakeup{Tenant: a.view.Head.Tenant, Thread: a.view.Head.Thread, Endpoint: endpoint}
	if err := a.e.o.Waker.Send(ctx, w, 0); err != nil {
		a.e.o.Logger.Warn("the wake-up for a delivery could not be sent; the sweep finds it", "thread", w.Thread, "endpoint", endpoint, "error", err)
	}
}

// WaitingCall is a call that has begun to wait for an answer.
type WaitingCall struct {
	Tenant, Thread, Run string
	Call                core.SuspendedCall
}

// announce says which calls a commit made wait, for people who watch the log. After a crash it may
// say nothing: subscribers are notified all the same.
func (a *activation) announce(s *core.Segment) {
	if a.e.o.Announce == nil || s == nil {
		return
	}
	h := a.view.Head
	for _, e := range s.Events {
		if call, ok := core.SuspendedIn(e); ok && call.Kind.AsksSomeone() {
			a.e.o.Announce(WaitingCall{h.Tenant, h.Thread, h.Run, call})
		}
	}
}
