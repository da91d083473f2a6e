package local

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

// shaky is a store that does not answer the first sweeps.
type shaky struct {
	failures int
	asked    chan int // how often it was asked, each time
	calls    int
}

func (s *shaky) TakeOverdue(context.Context, int64, int64, int) ([]engine.Wakeup, error) {
	s.calls++
	defer func() { s.asked <- s.calls }()
	if s.calls <= s.failures {
		return nil, engine.ErrUnavailable
	}
	return []engine.Wakeup{{Tenant: "t", Thread: "thr_late"}}, nil
}

type sentTo chan string

func (s sentTo) Send(_ context.Context, w engine.Wakeup, _ time.Duration) error {
	s <- w.Thread
	return nil
}

func TestTheSweepOutlivesAStoreThatDoesNotAnswer(t *testing.T) {
	clock, store, woken, log := enginetest.AtMilli(1000), &shaky{failures: 3, asked: make(chan int, 10)}, make(sentTo, 10), &lines{}
	s := &sweep{store: store, waker: woken, clock: clock, period: time.Minute, log: slog.New(slog.NewTextHandler(log, nil))}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.run(ctx)
	}()
	for n := range 4 {
		select {
		case got := <-store.asked:
			if got != n+1 {
				t.Fatalf("asked %d times", got)
			}
		case <-ended:
			t.Fatalf("the sweep ended for good at its failure %d", n)
		}
		if n < 3 && !advance(clock, ended) {
			t.Fatalf("the sweep ended for good after failure %d", n+1)
		}
	}
	if got := <-woken; got != "thr_late" {
		t.Errorf("woken %s", got)
	}
	cancel()
	<-ended
	if n := strings.Count(log.all.String(), "WARN"); n != 3 {
		t.Errorf("%d warnings: %s", n, log.all.String())
	}
}

// advance lets a minute pass once the sweep sleeps; false if it never will.
func advance(clock *enginetest.Clock, ended <-chan struct{}) bool {
	for {
		if _, sleeps := clock.Next(); sleeps {
			clock.Advance(time.Minute)
			return true
		}
		select {
		case <-ended:
			return false
		default:
			runtime.Gosched()
		}
	}
}
