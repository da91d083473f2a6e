package sim

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// MemoryQueue hides what it hands out until it is acknowledged, given back, or its visibility ends.
// Safe for concurrent use.
type MemoryQueue struct {
	Clock       engine.Clock
	Visibility  time.Duration
	MaxAttempts int // 0: no limit

	mu       sync.Mutex
	letters  []*letter
	dead     []*letter
	sent     int
	received int
}

type letter struct {
	engine.Delivery
	visible time.Time
	cause   string
}

// Send implements [engine.Waker].
func (q *MemoryQueue) Send(_ context.Context, w engine.Wakeup, delay time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sent++
	q.letters = append(q.letters, &letter{Delivery: engine.Delivery{ID: strconv.Itoa(q.sent), Wakeup: w}, visible: q.Clock.Now().Add(delay)})
	return nil
}

// Receive implements [engine.Receiver].
func (q *MemoryQueue) Receive(_ context.Context, most int) (got []engine.Delivery, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.Clock.Now()
	for _, l := range slices.Clone(q.letters) {
		switch {
		case len(got) == most:
			return got, nil
		case l.visible.After(now):
		case q.MaxAttempts > 0 && l.Attempts >= q.MaxAttempts:
			q.bury(l)
		default:
			q.received++
			l.Attempts, l.Receipt, l.visible = l.Attempts+1, strconv.Itoa(q.received), now.Add(q.Visibility)
			got = append(got, l.Delivery)
		}
	}
	return got, nil
}

func (q *MemoryQueue) bury(l *letter) {
	q.letters = slices.DeleteFunc(q.letters, func(o *letter) bool { return o == l })
	q.dead = append(q.dead, l)
}

func (q *MemoryQueue) find(d engine.Delivery) *letter {
	for _, l := range q.letters {
		if l.ID == d.ID && l.Receipt == d.Receipt && l.Receipt != "" {
			return l
		}
	}
	return nil
}

// Ack implements [engine.Receiver].
func (q *MemoryQueue) Ack(_ context.Context, d engine.Delivery) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.find(d)
	if l == nil {
		return engine.ErrRefused
	}
	q.letters = slices.DeleteFunc(q.letters, func(o *letter) bool { return o == l })
	return nil
}

// Nack implements [engine.Receiver].
func (q *MemoryQueue) Nack(_ context.Context, d engine.Delivery, delay time.Duration, cause string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.find(d)
	if l == nil {
		return engine.ErrRefused
	}
	l.visible, l.Receipt, l.cause = q.Clock.Now().Add(delay), "", cause
	if q.MaxAttempts > 0 && l.Attempts >= q.MaxAttempts {
		q.bury(l)
	}
	return nil
}

// Dead are the messages that were handed out too often.
func (q *MemoryQueue) Dead(context.Context) (dead []Dead, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.dead {
		dead = append(dead, Dead{l.Wakeup, l.Attempts, l.cause})
	}
	return dead, nil
}

// Dead is a message that was handed out too often.
type Dead struct {
	engine.Wakeup
	Attempts int
	Cause    string
}

// Redrive sends up to limit dead letters again.
func (q *MemoryQueue) Redrive(_ context.Context, limit int) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(limit, len(q.dead))
	for _, l := range q.dead[:n] {
		l.Attempts, l.visible, l.Receipt = 0, q.Clock.Now(), ""
		q.letters = append(q.letters, l)
	}
	q.dead = q.dead[n:]
	return n, nil
}
