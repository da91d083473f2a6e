package sim

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Joint is a queue that shares its writes with a store: what a release brings along, and the claim
// of a message's run, are one operation with it, as on SQLite.
type Joint interface {
	FullQueue

	// Ride does what a release that landed asks of the queue: see [engine.Settle].
	Ride(ctx context.Context, req engine.CommitRequest, landed engine.Written, claim func() (core.Head, error)) (engine.Written, error)

	// Take receives a message and claims its run.
	Take(ctx context.Context, of FullStore, claim func(engine.Wakeup) engine.ClaimRequest) (engine.Taken, error)

	// Itself says that the store is the queue: it does all that a commit brings along, and Ride
	// only learns of it.
	Itself() bool

	// Held is what was received under a receipt; the wake-up alone if it is held no more.
	Held(receipt string, w engine.Wakeup) engine.Delivery
}

// Ride implements [Joint].
func (q *MemoryQueue) Ride(ctx context.Context, req engine.CommitRequest, landed engine.Written, claim func() (core.Head, error)) (engine.Written, error) {
	landed.Settled = true
	if req.Settle.Claim != nil && req.Wake != nil && !q.anyVisible() {
		if head, err := claim(); err == nil {
			landed.Woken, landed.Next = true, &engine.Taken{Delivery: q.again(req), Head: head}
			return landed, nil
		}
	}
	_ = q.Ack(ctx, req.Settle.Delivery) // of another receiver by now
	if req.Wake == nil {
		return landed, nil
	}
	err := q.Send(ctx, engine.Wakeup{Tenant: req.Next.Tenant, Thread: req.Next.Thread}, req.Wake.For)
	landed.Woken = err == nil
	return landed, err
}

// Take implements [Joint].
func (q *MemoryQueue) Take(ctx context.Context, of FullStore, claim func(engine.Wakeup) engine.ClaimRequest) (engine.Taken, error) {
	got, err := q.Receive(ctx, 1)
	if err != nil || len(got) == 0 {
		return engine.Taken{}, err
	}
	taken := engine.Taken{Delivery: got[0]}
	if taken.Endpoint == "" {
		// if it is refused, the step's own claim says why
		if head, err := of.Claim(ctx, claim(taken.Wakeup)); err == nil {
			taken.Head = head
		}
	}
	return taken, nil
}

// Itself implements [Joint].
func (q *MemoryQueue) Itself() bool { return false }

// Len counts the messages that are not acknowledged.
func (q *MemoryQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.letters)
}

func (q *MemoryQueue) anyVisible() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.Clock.Now()
	for _, l := range q.letters {
		if !l.visible.After(now) {
			return true
		}
	}
	return false
}

// again makes the delivery of a release the one of the next wake-up.
func (q *MemoryQueue) again(req engine.CommitRequest) engine.Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.find(req.Settle.Delivery)
	if l == nil {
		return engine.Delivery{Wakeup: engine.Wakeup{Tenant: req.Next.Tenant, Thread: req.Next.Thread}}
	}
	l.Attempts, l.Receipt, l.visible = 1, req.Settle.Claim.Claim, q.Clock.Now().Add(q.Visibility)
	return l.Delivery
}

// Held implements [Joint].
func (q *MemoryQueue) Held(receipt string, w engine.Wakeup) engine.Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.letters {
		if l.Receipt == receipt {
			return l.Delivery
		}
	}
	return engine.Delivery{Wakeup: w}
}

// JointStore is a store whose commits bring along what they ask of a queue.
type JointStore struct {
	FullStore
	Joint Joint
}

// Commit implements [engine.Store].
func (j JointStore) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	return j.ride(ctx, req, func(req engine.CommitRequest) (engine.Written, error) { return j.FullStore.Commit(ctx, req) })
}

// ride is a commit with what it brings along.
func (j JointStore) ride(ctx context.Context, req engine.CommitRequest, commit func(engine.CommitRequest) (engine.Written, error)) (engine.Written, error) {
	alone := req
	alone.Wake, alone.Settle = nil, nil
	switch {
	case j.Joint == nil || req.Settle == nil:
		return commit(alone)
	case j.Joint.Itself():
		w, err := commit(req)
		if err != nil {
			return w, err
		}
		return j.Joint.Ride(ctx, req, w, nil)
	}
	old, _ := j.Load(ctx, req.Next.Tenant, req.Next.Thread)
	w, err := commit(alone)
	switch claim := req.Settle.Claim; {
	case errors.Is(err, engine.ErrFenced) && claim != nil && old.Claim == claim.Claim && old.Lease != 0 && old.Epoch == req.Next.Epoch+1:
		held := j.Joint.Held(claim.Claim, engine.Wakeup{Tenant: old.Tenant, Thread: old.Thread})
		return engine.Written{Head: old, Woken: true, Settled: true, Next: &engine.Taken{Delivery: held, Head: old}}, nil
	case err != nil:
		return w, err
	case old.Rev == req.Next.Rev: // a repeat
		w.Woken, w.Settled = req.Wake != nil, true
		return w, nil
	}
	return j.Joint.Ride(ctx, req, w, func() (core.Head, error) { return j.Claim(ctx, *req.Settle.Claim) })
}

// Take receives a message and claims its run; without a [Joint], it only receives.
func (q Queue) Take(ctx context.Context, of Store, claim func(engine.Wakeup) engine.ClaimRequest) (taken engine.Taken, some bool, err error) {
	if of.Joint == nil {
		got, err := q.Receive(ctx, 1)
		if err != nil || len(got) == 0 {
			return taken, false, err
		}
		return engine.Taken{Delivery: got[0]}, true, nil
	}
	taken, err = op(ctx, q.Faults, q.Lose, "take", func() (engine.Taken, error) {
		t, err := of.Joint.Take(ctx, of.Inner, claim)
		if t.ID != "" {
			q.Faults.World.Note("takes a wake-up of %s", short(t.Thread))
		}
		return t, err
	})
	return taken, taken.ID != "", err
}
