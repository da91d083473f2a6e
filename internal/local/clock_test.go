package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

// settable is the machine's clock, as it may be set. Timers go on as they do on a real machine.
type settable struct {
	machine.Clock
	set atomic.Int64 // by how much
}

func (c *settable) Now() time.Time { return time.Now().Round(0).Add(time.Duration(c.set.Load())) }

func (c *settable) Set(by time.Duration) { c.set.Add(int64(by)) }

// Whenever the clock is set, and whichever way, every run that was acknowledged goes on within a
// minute, and each body runs once.
func TestWhatWasAcknowledgedGoesOnWhateverTheClockDoes(t *testing.T) {
	const clients, each = 6, 4
	for _, steps := range [][]time.Duration{{time.Hour}, {-time.Hour}, {time.Minute}, {-time.Minute}, {time.Hour, -time.Hour}, {-10 * time.Minute, -10 * time.Minute}} {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed of this test: %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			clock := &settable{}
			var paid atomic.Int64
			work := make(chan struct{})
			body := make(chan struct{}, clients*each)
			r := newRig(t, func(ctx context.Context) error {
				body <- struct{}{}
				<-work
				paid.Add(1)
				return nil
			})
			r.deploy(asked)
			o := r.options()
			o.clock, o.elapsed, o.Workers = clock, machine.Elapsed, 8
			s := r.startWith(o)
			var all sync.WaitGroup
			for range clients {
				all.Go(func() {
					for range each {
						if run := s.approved(t, s.begin(t).ID); run.Reason == nil || *run.Reason != "natural_end" {
							t.Errorf("run %s ended with %+v", run.ID, run)
						}
					}
				})
			}
			for _, by := range steps {
				// so many bodies are at work, or have been, when the clock is set
				for range 1 + random.IntN(clients/len(steps)) {
					<-body
				}
				clock.Set(by)
			}
			close(work)
			began := time.Now()
			all.Wait()
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %s", took)
			}
			if paid.Load() != clients*each {
				t.Errorf("%d bodies ran", paid.Load())
			}
			s.end(t)
		})
	}
}

// approved approves what a run asks until it is done. A clock that is set between a call's intent
// and its body makes the run ask whether the body ran; it did not.
func (s running) approved(t *testing.T, id string) wire.Run {
	t.Helper()
	for {
		run, err := s.PollRun(t.Context(), id, 20*time.Second)
		if err != nil || run.Status == "done" {
			if err != nil {
				t.Error(err)
			}
			return run
		}
		for _, p := range run.Pending {
			if _, err := s.Decide(t.Context(), id, wire.Decision{Target: p.Suspension.ID, Action: "resume"}); err != nil {
				t.Error(err)
			}
		}
	}
}
