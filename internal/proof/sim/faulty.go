package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// FullStore is every side of a store that a simulated system uses.
type FullStore interface {
	engine.Store
	frontend.Store
	engine.Overdue
	engine.Lines
	delivery.Lines
	Deliveries
}

// Deliveries are what an operator does with delivery lines.
type Deliveries interface {
	Line(ctx context.Context, k notice.Key) (notice.Line, error)
	ThreadLines(ctx context.Context, tenant, thread string) (map[string]notice.Line, error)
	Records(ctx context.Context, tenant string, q engine.RecordQuery) ([]notice.Record, string, error)
	RedriveNotice(ctx context.Context, k notice.Key, event, now int64) error
}

// Store puts faults between its users and an inner store. Without a Joint, wake-ups never ride in
// the inner store's transactions: they are sent one by one, so that they can be lost.
type Store struct {
	Inner  FullStore
	Faults *Faults
	Lose   Lose
	Joint  Joint // the queue, if releases bring along what they ask of it

	// Earlier, if there is one, has its own way to miss what is new.
	Earlier engine.Earlier

	// Recorded, if there is one, is called when the record of a notice is stored and its line
	// still has the notice.
	Recorded func(ctx context.Context, r notice.Record)
}

func (s Store) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	return write(ctx, s, "claim", func(ctx context.Context) (core.Head, error) {
		h, err := s.Inner.Claim(ctx, req)
		s.Faults.World.tell(func() string { return toldClaim(req, h, err) })
		return h, err
	})
}

// Commit is one operation, or two if the inner store lets its halves be seen: a copy of either may
// land later than the other.
func (s Store) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	if inner, ok := s.Inner.(halves); ok {
		return s.commitInHalves(ctx, inner, req)
	}
	return write(ctx, s, "commit", func(ctx context.Context) (engine.Written, error) {
		w, err := JointStore{s.Inner, s.Joint}.Commit(ctx, req)
		s.Faults.World.tell(func() string { return toldCommit(req, err) })
		return w, err
	})
}

// halves is a store whose commits are two writes.
type halves interface {
	PutSegment(tenant, thread string, s core.Segment) error
	UpdateHead(req engine.CommitRequest) (engine.Written, error)
}

func (s Store) commitInHalves(ctx context.Context, inner halves, req engine.CommitRequest) (engine.Written, error) {
	if req.Segment != nil {
		_, err := write(ctx, s, "put segment", func(context.Context) (struct{}, error) {
			err := inner.PutSegment(req.Next.Tenant, req.Next.Thread, *req.Segment)
			s.Faults.World.tell(func() string {
				return fmt.Sprintf("puts segment %d, stamp %d: %s", req.Segment.Seq, req.Segment.W, toldError(err))
			})
			return struct{}{}, err
		})
		if err != nil {
			return engine.Written{}, err
		}
	}
	return write(ctx, s, "commit", func(ctx context.Context) (engine.Written, error) {
		w, err := JointStore{s.Inner, s.Joint}.ride(ctx, req, inner.UpdateHead)
		s.Faults.World.tell(func() string { return toldCommit(req, err) })
		return w, err
	})
}

func (s Store) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	req.Wake = nil
	return write(ctx, s, "start", func(ctx context.Context) (engine.Written, error) {
		w, err := s.Inner.Start(ctx, req)
		s.Faults.World.tell(func() string { return toldStart(req, err) })
		return w, err
	})
}

func (s Store) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	req.Wake = nil
	return write(ctx, s, "signal", func(ctx context.Context) (engine.Written, error) {
		w, err := s.Inner.Signal(ctx, req)
		s.Faults.World.tell(func() string { return toldSignal(req, err) })
		return w, err
	})
}

func (s Store) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	return op(ctx, s.Faults, s.Lose, "load", func() (core.Head, error) { return s.Inner.Load(ctx, tenant, thread) })
}

func (s Store) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	return op(ctx, s.Faults, s.Lose, "segments", func() ([]core.Segment, error) { return s.Inner.Segments(ctx, tenant, thread, from, to) })
}

// EarlierSegments implements [engine.Earlier]: the newest are missing, or one among them.
func (s Store) EarlierSegments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	return op(ctx, s.Faults, s.Lose, "earlier segments", func() ([]core.Segment, error) {
		if s.Earlier != nil {
			return s.Earlier.EarlierSegments(ctx, tenant, thread, from, to)
		}
		segments, err := s.Inner.Segments(ctx, tenant, thread, from, to)
		if n := len(segments); n > 0 {
			at := s.Faults.World.rng.IntN(n)
			until := at + 1
			if s.Faults.World.Chance(0.5) {
				until = n
			}
			if s.Faults.World.Happens("segment missing", 0.3) {
				segments = slices.Delete(slices.Clone(segments), at, until)
			}
		}
		return segments, err
	})
}

func (s Store) Payload(ctx context.Context, tenant, thread, digest string) ([]byte, error) {
	return op(ctx, s.Faults, s.Lose, "payload", func() ([]byte, error) { return s.Inner.Payload(ctx, tenant, thread, digest) })
}

func (s Store) PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error {
	_, err := op(ctx, s.Faults, s.Lose, "put payload", func() (struct{}, error) {
		return struct{}{}, s.Inner.PutPayload(ctx, tenant, thread, digest, body)
	})
	return err
}

func (s Store) Used(ctx context.Context, tenant, key string) (engine.Key, error) {
	return op(ctx, s.Faults, s.Lose, "used", func() (engine.Key, error) { return s.Inner.Used(ctx, tenant, key) })
}

func (s Store) Archived(ctx context.Context, tenant, run string) (core.Record, error) {
	return op(ctx, s.Faults, s.Lose, "archived", func() (core.Record, error) { return s.Inner.Archived(ctx, tenant, run) })
}

// Lists carry no promise that a fault could break; they only interleave.

func (s Store) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	s.Faults.World.Yield(ctx)
	return s.Inner.Runs(ctx, tenant, thread, cursor, limit)
}

func (s Store) RunsBehind(born int64, run string) string { return s.Inner.RunsBehind(born, run) }

func (s Store) Approvals(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error) {
	s.Faults.World.Yield(ctx)
	return s.Inner.Approvals(ctx, tenant, cursor, limit)
}

func (s Store) Feed(ctx context.Context, tenant string, q engine.FeedQuery) ([]engine.FeedEntry, error) {
	s.Faults.World.Yield(ctx)
	return s.Inner.Feed(ctx, tenant, q)
}

func (s Store) FeedLag() time.Duration { return s.Inner.FeedLag() }

// TakeOverdue is one operation, or one for the index and one for each entry.
func (s Store) TakeOverdue(ctx context.Context, now, next int64, limit int) ([]engine.Wakeup, error) {
	if inner, ok := s.Inner.(index); ok {
		return s.takeOneByOne(ctx, inner, now, next, limit)
	}
	return op(ctx, s.Faults, s.Lose, "sweep", func() ([]engine.Wakeup, error) { return s.Inner.TakeOverdue(ctx, now, next, limit) })
}

// index is a store whose due times are read first, and moved one by one.
type index interface {
	DueBefore(now int64, limit int) []Entry
	Move(e Entry, next int64) (won bool)
}

func (s Store) takeOneByOne(ctx context.Context, inner index, now, next int64, limit int) (taken []engine.Wakeup, err error) {
	due, err := op(ctx, s.Faults, s.Lose, "read the index", func() ([]Entry, error) { return inner.DueBefore(now, limit), nil })
	for _, e := range due {
		won, err := write(ctx, s, "move", func(context.Context) (bool, error) { return inner.Move(e, next), nil })
		if err == nil && won {
			taken = append(taken, e.Wakeup)
		}
	}
	return taken, err
}

// FullQueue is both sides of a queue.
type FullQueue interface {
	engine.Waker
	engine.Receiver
}

// Queue puts faults between its users and an inner queue: messages are doubled, delayed and lost as
// well.
type Queue struct {
	Inner  FullQueue
	Faults *Faults
	Lose   Lose
}

func (q Queue) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	_, err := op(ctx, q.Faults, q.Lose, "send", func() (struct{}, error) { return struct{}{}, q.deliver(ctx, w, delay) })
	return err
}

func (q Queue) deliver(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	f := q.Faults
	if f.Choose != nil || !f.World.Chance(f.Rate) {
		return q.Inner.Send(ctx, w, delay)
	}
	kind, later := []string{Lost, Delayed, Doubled}[f.World.rng.IntN(3)], f.World.Upto(20*time.Second)
	if !f.World.Allows("message") {
		return q.Inner.Send(ctx, w, delay)
	}
	f.count(kind)
	f.World.Note("%s", kind)
	switch kind {
	case Lost:
		return nil
	case Doubled:
		if err := q.Inner.Send(ctx, w, delay); err != nil {
			return err
		}
	}
	return q.Inner.Send(ctx, w, delay+later)
}

func (q Queue) Receive(ctx context.Context, max int) ([]engine.Delivery, error) {
	return op(ctx, q.Faults, q.Lose, "receive", func() ([]engine.Delivery, error) {
		got, err := q.Inner.Receive(ctx, max)
		for _, d := range got {
			q.Faults.World.Note("takes a wake-up of %s", short(d.Thread))
		}
		return got, err
	})
}

func (q Queue) Ack(ctx context.Context, d engine.Delivery) error {
	_, err := op(ctx, q.Faults, q.Lose, "ack", func() (struct{}, error) { return struct{}{}, q.Inner.Ack(ctx, d) })
	return err
}

func (q Queue) Nack(ctx context.Context, d engine.Delivery, delay time.Duration, cause string) error {
	_, err := op(ctx, q.Faults, q.Lose, "nack", func() (struct{}, error) { return struct{}{}, q.Inner.Nack(ctx, d, delay, cause) })
	return err
}

// write is op for a request whose copy may land again later.
func write[T any](ctx context.Context, s Store, name string, do func(context.Context) (T, error)) (T, error) {
	return op(ctx, s.Faults, s.Lose, name, func() (T, error) {
		s.Faults.copyLater(ctx, name, func(ctx context.Context) { _, _ = do(ctx) })
		return do(ctx)
	})
}
