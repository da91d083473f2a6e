package sim_test

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
)

// receivers are the endpoints of a tenant: one that wants to know everything, one for the ends of
// runs, and now and then one that wants nothing any more. They fail, and take their time.
type receivers struct {
	s       *stage
	first   map[notice.Key]int64          // the newest event that a line attempted first
	got     map[notice.Key]map[int64]bool // what arrived
	gone    map[string]bool               // endpoints that were disabled
	attempt map[notice.Key]map[int64]bool // what was attempted
	again   map[notice.Key]int64          // how many were redriven
}

func newReceivers(s *stage) *receivers {
	return &receivers{s: s, first: map[notice.Key]int64{}, got: map[notice.Key]map[int64]bool{}, gone: map[string]bool{}, attempt: map[notice.Key]map[int64]bool{}, again: map[notice.Key]int64{}}
}

var endpoints = []notice.Subscription{
	{Endpoint: "everything", On: notice.Kinds},
	{Endpoint: "ends", On: notice.Set{notice.Done, notice.Failed}},
	{Endpoint: "gone", On: notice.Set{notice.Suspended, notice.Decided}},
}

// Of implements [engine.Subscribers]: the same for each run of a tenant, from its beginning on.
func (c casts) Of(_ context.Context, h core.Head) ([]notice.Subscription, error) {
	return c.of(h.Tenant).s.subscriptions(), nil
}

func (s *stage) subscriptions() []notice.Subscription { return endpoints[:s.plan.endpoints] }

// Send implements [delivery.Endpoints].
func (c casts) Send(ctx context.Context, n delivery.Notice) delivery.Result {
	return c.of(n.Tenant).s.receivers.receive(ctx, n)
}

// Disable implements [delivery.Endpoints].
func (c casts) Disable(_ context.Context, k notice.Key, _ string) error {
	c.of(k.Tenant).s.receivers.gone[k.Endpoint] = true
	return nil
}

func (r *receivers) receive(ctx context.Context, n delivery.Notice) delivery.Result {
	r.expect(ctx, n)
	r.s.w.Yield(ctx)
	switch {
	case n.Endpoint == "gone" && r.gone[n.Endpoint]:
		return delivery.Result{Outcome: notice.Hopeless, Error: "disabled"}
	case n.Endpoint == "gone" && r.s.w.Chance(0.3):
		return delivery.Result{Outcome: notice.Gone, Status: 410, Error: "gone"}
	case r.s.w.Chance(4 * r.s.faults.Rate):
		return delivery.Result{Outcome: notice.Refused, Status: 503, Error: "busy"}
	case r.s.w.Chance(r.s.faults.Rate):
		_ = r.s.w.Sleep(ctx, r.s.w.Upto(10*time.Second))
	}
	if r.got[n.Key] == nil {
		r.got[n.Key] = map[int64]bool{}
	}
	r.got[n.Key][n.Event.Seq] = true
	return delivery.Result{Outcome: notice.Delivered, Status: 204}
}

// expect holds an attempt against what must be so: its event is committed, first attempts of a line
// come in the order of events, and what was confirmed does not come again.
func (r *receivers) expect(ctx context.Context, n delivery.Notice) {
	h, err := r.s.db.Load(ctx, n.Tenant, n.Thread)
	if err != nil || n.Event.Seq > h.Ev || n.Seq > h.Seq {
		r.s.wrong("ND-2: event %d of %s is sent to %s and not committed: %v", n.Event.Seq, n.Thread, n.Endpoint, err)
	}
	if kind, subscribed := subscription(n.Endpoint).On.Of(n.Event); !subscribed || kind != n.Kind {
		r.s.wrong("%s is sent %s as %q, which it did not subscribe to", n.Endpoint, n.Event.Type, n.Kind)
	}
	if r.attempt[n.Key] == nil {
		r.attempt[n.Key] = map[int64]bool{}
	}
	if n.Tries == 0 && !r.attempt[n.Key][n.Event.Seq] && !r.givenUp(ctx, n) {
		if n.Event.Seq < r.first[n.Key] {
			r.s.wrong("ND-3: event %d of %s is first sent to %s behind event %d", n.Event.Seq, n.Thread, n.Endpoint, r.first[n.Key])
		}
		r.first[n.Key] = n.Event.Seq
	}
	r.attempt[n.Key][n.Event.Seq] = true
}

// givenUp says that the notice left its line, which was crowded, before this attempt: a worker that
// stood still does not know.
func (r *receivers) givenUp(ctx context.Context, n delivery.Notice) bool {
	l, err := r.s.db.Line(ctx, n.Key)
	e, waits := l.Entries[n.Event.Seq]
	return err == nil && r.s.plan.crowded && (!waits || e.Tries > 0)
}

func subscription(endpoint string) notice.Subscription {
	for _, s := range endpoints {
		if s.Endpoint == endpoint {
			return s
		}
	}
	return notice.Subscription{}
}

// owedBy counts the events that a subscriber has to be told.
func owedBy(segments []core.Segment, on notice.Set) (n int64) {
	for _, s := range segments {
		for _, e := range s.Events {
			if _, subscribed := on.Of(e); subscribed {
				n++
			}
		}
	}
	return n
}

// delivered demands that each event of the journals that an endpoint subscribed to has arrived or
// is a dead letter, and that no line has anything left to do.
func (r *receivers) delivered(ctx context.Context) {
	for _, t := range r.s.threads {
		h, err := r.s.db.Load(ctx, r.s.tenant, t.id)
		if err != nil {
			continue
		}
		segments, err := r.s.db.Segments(ctx, r.s.tenant, t.id, 1, h.Seq)
		if err != nil {
			r.s.wrong("reading %s: %v", t.id, err)
		}
		for _, sub := range r.s.subscriptions() {
			r.deliveredTo(ctx, notice.Key{Tenant: r.s.tenant, Thread: t.id, Endpoint: sub.Endpoint}, sub, segments)
		}
	}
}

func (r *receivers) deliveredTo(ctx context.Context, k notice.Key, sub notice.Subscription, segments []core.Segment) {
	l, err := r.s.db.Line(ctx, k)
	switch owed := owedBy(segments, sub.On); {
	case errors.Is(err, engine.ErrNotFound) && owed == 0:
	case err != nil:
		r.s.wrong("the line of %s to %s: %v", k.Thread, k.Endpoint, err)
	case l.Due != 0 || len(l.Entries) > 0:
		r.s.wrong("the line of %s to %s is not worked off: %s", k.Thread, k.Endpoint, core.Encode(l))
	case l.Adds != owed+r.again[k]:
		r.s.wrong("ND-5: the line of %s to %s took %d notices, %d events are subscribed to, and %d were redriven", k.Thread, k.Endpoint, l.Adds, owed, r.again[k])
	}
	records, _, err := r.s.db.Records(ctx, k.Tenant, engine.RecordQuery{Thread: k.Thread, Endpoint: k.Endpoint, Limit: 10_000})
	if err != nil {
		r.s.wrong("listing the notices of %s: %v", k.Thread, err)
	}
	is := map[int64]notice.State{}
	for _, record := range records {
		is[record.Event] = record.State
	}
	for _, s := range segments {
		for _, e := range s.Events {
			if _, subscribed := sub.On.Of(e); !subscribed {
				continue
			}
			switch {
			case is[e.Seq] == notice.StateDelivered && r.got[k][e.Seq]:
			case is[e.Seq] == notice.StateDead && k.Endpoint == "gone":
			default:
				r.s.wrong("ND-1: event %d (%s) of %s to %s is %q; it has arrived: %v", e.Seq, e.Type, k.Thread, k.Endpoint, is[e.Seq], r.got[k][e.Seq])
			}
			delete(is, e.Seq)
		}
	}
	for event, state := range is {
		r.s.wrong("ND-2: event %d of %s is %s, and no subscribed event of the journal", event, k.Thread, state)
	}
}
