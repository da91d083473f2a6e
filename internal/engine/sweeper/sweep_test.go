package sweeper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/engine/partial"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
)

// halfway is an index that fails behind what it has moved.
type halfway struct{ moved []engine.Wakeup }

var errHalfway = errors.New("the second shard did not answer")

func (h halfway) TakeOverdue(context.Context, int64, int64, int) ([]engine.Wakeup, error) {
	return h.moved, errHalfway
}

// mailbox keeps what was sent.
type mailbox struct{ sent []engine.Wakeup }

func (m *mailbox) Send(_ context.Context, w engine.Wakeup, _ time.Duration) error {
	m.sent = append(m.sent, w)
	return nil
}

func TestASweepThatFailsHalfwayWakesWhatItHasMoved(t *testing.T) {
	moved := []engine.Wakeup{{Tenant: "t", Thread: "thr_a"}, {Tenant: "t", Thread: "thr_b"}}
	var sent mailbox
	err := sweeper.Sweep(t.Context(), halfway{moved}, &sent, enginetest.AtMilli(1000), time.Minute)
	if !errors.Is(err, errHalfway) || !slices.Equal(sent.sent, moved) {
		t.Errorf("sent %v, %v", sent.sent, err)
	}
}

// entries is an index whose first entry can never be moved.
type entries struct {
	due   []engine.Wakeup
	calls int
}

var errHot = errors.New("the key is throttled")

func (e *entries) TakeOverdue(_ context.Context, _, _ int64, limit int) ([]engine.Wakeup, error) {
	e.calls++
	n := min(limit, len(e.due))
	taken := e.due[:n]
	e.due = e.due[n:]
	return taken, partial.Failures{&partial.EntryError{Wakeup: engine.Wakeup{Tenant: "t", Thread: "thr_hot"}, Err: errHot}}
}

func manyDue(n int) (due []engine.Wakeup) {
	for i := range n {
		due = append(due, engine.Wakeup{Tenant: "t", Thread: fmt.Sprint("thr_", i)})
	}
	return due
}

func TestASweepGoesOnPastAnEntryThatFailsUntilNothingIsDue(t *testing.T) {
	index, want := &entries{due: manyDue(2500)}, manyDue(2500)
	var sent mailbox
	err := sweeper.Sweep(t.Context(), index, &sent, enginetest.AtMilli(1000), time.Minute)
	if !slices.Equal(sent.sent, want) {
		t.Errorf("%d of %d were woken", len(sent.sent), len(want))
	}
	failed, ok := errors.AsType[*sweeper.Error](err)
	if !ok || failed.Woken != 2500 || len(failed.Failures) != 3 || !errors.Is(err, errHot) {
		t.Errorf("got %v", err)
	}
	if index.calls != 3 {
		t.Errorf("the index was asked %d times", index.calls)
	}
}

// picky refuses one thread.
type picky struct {
	mailbox
	refuses string
}

func (p *picky) Send(ctx context.Context, w engine.Wakeup, d time.Duration) error {
	if w.Thread == p.refuses || p.refuses == "all" {
		return engine.ErrUnavailable
	}
	return p.mailbox.Send(ctx, w, d)
}

// steady is an index without failures.
type steady struct{ entries }

func (s *steady) TakeOverdue(ctx context.Context, now, next int64, limit int) ([]engine.Wakeup, error) {
	taken, _ := s.entries.TakeOverdue(ctx, now, next, limit)
	return taken, nil
}

func TestAWakeUpThatCannotBeSentKeepsNoOtherFromBeingSent(t *testing.T) {
	waker := &picky{refuses: "thr_3"}
	var log bytes.Buffer
	err := sweeper.Sweep(t.Context(), &steady{entries{due: manyDue(150)}}, waker, enginetest.AtMilli(1000), time.Minute)
	failed, ok := errors.AsType[*sweeper.Error](err)
	if !ok || len(waker.sent) != 149 || failed.Woken != 149 || len(failed.Failures) != 1 {
		t.Fatalf("%d sent, %v", len(waker.sent), err)
	}
	failed.Log(slog.New(slog.NewTextHandler(&log, nil)))
	if !strings.Contains(log.String(), "tenant=t thread=thr_3") {
		t.Errorf("the log does not name the thread: %s", log.String())
	}
}

// batched is a waker that sends several with a request, and notes how many are under way.
type batched struct {
	engine.Waker // panics: a sweep sends all it can together

	mu      sync.Mutex
	refuses string
	sent    []string
	kinds   []int // how many of both kinds a request had
	now     int
	most    int
	full    chan struct{} // closed once as many are under way as may be
}

func (b *batched) SendAll(_ context.Context, ws []engine.Wakeup) []error {
	b.begin(ws)
	<-b.full
	errs := make([]error, len(ws))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now--
	for i, w := range ws {
		if w.Thread == b.refuses {
			errs[i] = engine.ErrUnavailable
			continue
		}
		b.sent = append(b.sent, w.Thread)
	}
	return errs
}

func (b *batched) begin(ws []engine.Wakeup) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kinds := map[bool]bool{}
	for _, w := range ws {
		kinds[w.Endpoint == ""] = true
	}
	b.kinds = append(b.kinds, len(kinds))
	if b.now++; b.now > b.most {
		if b.most = b.now; b.most == sweeper.AtOnce {
			close(b.full)
		}
	}
}

func TestASweepSendsTenTogetherAndSixteenRequestsAtOnce(t *testing.T) {
	due := manyDue(400)
	for i := range due {
		if i%2 == 1 {
			due[i].Endpoint = "ops"
		}
	}
	waker := &batched{refuses: "thr_3", full: make(chan struct{})}
	err := sweeper.Sweep(t.Context(), &steady{entries{due: due}}, waker, enginetest.AtMilli(1000), time.Minute)
	failed, ok := errors.AsType[*sweeper.Error](err)
	if !ok || failed.Woken != 399 || len(waker.sent) != 399 || len(failed.Failures) != 1 || !strings.Contains(failed.Failures[0].Error(), "thr_3 ") {
		t.Errorf("%d sent, %v", len(waker.sent), err)
	}
	if len(waker.kinds) != 40 || slices.Max(waker.kinds) != 1 || waker.most != sweeper.AtOnce {
		t.Errorf("%d requests, %d at once, some with wake-ups of both queues: %v", len(waker.kinds), waker.most, waker.kinds)
	}
}

func TestASweepEndsWhenNoWakeUpCanBeSent(t *testing.T) {
	index := &steady{entries{due: manyDue(2500)}}
	err := sweeper.Sweep(t.Context(), index, &picky{refuses: "all"}, enginetest.AtMilli(1000), time.Minute)
	if failed, ok := errors.AsType[*sweeper.Error](err); !ok || failed.Woken != 0 || index.calls != 1 {
		t.Errorf("the index was asked %d times, %v: entries were moved away for nothing", index.calls, err)
	}
}

func TestTheLogOfASweepIsBounded(t *testing.T) {
	var log bytes.Buffer
	var failed sweeper.Error
	for _, w := range manyDue(500) {
		failed.Failures = append(failed.Failures, &partial.EntryError{Wakeup: w, Err: errHot})
	}
	failed.Log(slog.New(slog.NewTextHandler(&log, nil)))
	if n := strings.Count(log.String(), "\n"); n != 11 || !strings.Contains(log.String(), "threads=490") {
		t.Errorf("%d lines: %s", n, log.String())
	}
}
