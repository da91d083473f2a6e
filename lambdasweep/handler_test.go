package lambdasweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/engine/partial"
)

// rig is a handler over due entries that are played.
type rig struct {
	h      *handler
	clock  *enginetest.Clock
	out    bytes.Buffer
	log    bytes.Buffer
	oldest int64
	due    []engine.Wakeup
	sent   []engine.Wakeup
	mu     sync.Mutex
	period int64 // that the last entries were moved by

	unread, broken error
}

func newRig() *rig {
	r := &rig{clock: enginetest.AtMilli(100_000)}
	r.h = &handler{store: r, waker: r, clock: r.clock, metrics: emf.New(&r.out, "test", r.clock.Now), units: r, log: stack.Settings{}.Logger(&r.log)}
	return r
}

func (r *rig) OldestDue(context.Context, int64) (int64, error) { return r.oldest, r.unread }

func (r *rig) TakeOverdue(ctx context.Context, now, next int64, limit int) ([]engine.Wakeup, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.period = next - now
	n := min(limit, len(r.due))
	taken := r.due[:n]
	r.due = r.due[n:]
	return taken, r.broken
}

func (r *rig) Send(_ context.Context, w engine.Wakeup, _ time.Duration) error {
	r.sent = append(r.sent, w)
	return nil
}

func (r *rig) SendAll(ctx context.Context, ws []engine.Wakeup) []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, ws...)
	return make([]error, len(ws))
}

// sweep invokes the function as the schedule does.
func (r *rig) sweep(ctx context.Context) error {
	event, err := os.ReadFile("testdata/schedule.json")
	if err != nil {
		return err
	}
	_, err = lambda.NewHandler(r.h.handle).Invoke(ctx, event)
	return err
}

func (r *rig) add(n int) {
	for i := range n {
		r.due = append(r.due, engine.Wakeup{Tenant: "acme", Thread: fmt.Sprint("thr_", i)})
	}
}

func (r *rig) wrote(t *testing.T, metrics ...string) {
	t.Helper()
	for _, m := range metrics {
		if !strings.Contains(r.out.String(), m) {
			t.Errorf("%s is not in %s\nthe log:\n%s", m, r.out.String(), r.log.String())
		}
	}
}

func TestEverythingDueIsWokenAndMeasured(t *testing.T) {
	r := newRig()
	r.add(250)
	r.oldest = 40_500
	if err := r.sweep(t.Context()); err != nil || len(r.sent) != 250 || r.period != period.Milliseconds() {
		t.Errorf("%d sent, entries moved by %d ms, %v", len(r.sent), r.period, err)
	}
	r.wrote(t, `"Overdue":250`, `"OldestDueSeconds":59.5`)
}

// A metric that nobody writes any more is how a sweep is seen that does not run.
func TestNothingDueIsMeasuredAsZero(t *testing.T) {
	r := newRig()
	if err := r.sweep(t.Context()); err != nil {
		t.Error(err)
	}
	r.wrote(t, `"Overdue":0`, `"SweepFailures":0`, `"OldestDueSeconds":0`)
}

func TestASweepEndsBeforeItsInvocation(t *testing.T) {
	r := newRig()
	r.add(1000)
	// less than what is kept for the end
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := r.sweep(ctx); err != nil || len(r.sent) != 0 {
		t.Errorf("%d sent, %v", len(r.sent), err)
	}
	r.wrote(t, `"Overdue":0`)
}

func TestAStoreThatDoesNotAnswerFailsTheInvocation(t *testing.T) {
	r := newRig()
	r.broken, r.unread = engine.ErrUnavailable, engine.ErrUnavailable
	if err := r.sweep(t.Context()); err == nil || !strings.Contains(err.Error(), engine.ErrUnavailable.Error()) {
		t.Errorf("got %v", err)
	}
	r.wrote(t, `"Overdue":0`)
	if strings.Contains(r.out.String(), "OldestDueSeconds") {
		t.Errorf("an age that was not read is told: %s", r.out.String())
	}
}

func TestASweepFailsOnlyIfItWakesNothing(t *testing.T) {
	hot := partial.Failures{&partial.EntryError{Wakeup: engine.Wakeup{Tenant: "acme", Thread: "thr_hot"}, Err: engine.ErrUnavailable}}
	for due, fails := range map[int]bool{1: false, 0: true} {
		r := newRig()
		r.add(due)
		r.broken = hot
		if err := r.sweep(t.Context()); (err != nil) != fails || len(r.sent) != due {
			t.Errorf("%d due: %d sent, %v", due, len(r.sent), err)
		}
		r.wrote(t, `"SweepFailures":1`, fmt.Sprintf(`"Overdue":%d`, due))
		if log := r.log.String(); !strings.Contains(log, "thr_hot") || !strings.Contains(log, "acme") {
			t.Errorf("%d due: the log does not name the thread: %s", due, log)
		}
	}
}

// The age is that of the shards that can be read.
func TestAnAgeThatIsReadInPartIsMeasured(t *testing.T) {
	r := newRig()
	r.oldest, r.unread = 40_500, errors.New("one shard did not answer")
	if err := r.sweep(t.Context()); err != nil {
		t.Error(err)
	}
	r.wrote(t, `"OldestDueSeconds":59.5`)
}

func TestAnAgeThatCannotBeReadKeepsNothingFromBeingWoken(t *testing.T) {
	r := newRig()
	r.add(1)
	r.unread = errors.New("broken")
	if err := r.sweep(t.Context()); err != nil || len(r.sent) != 1 {
		t.Errorf("%d sent, %v", len(r.sent), err)
	}
}

// Take is the meter's.
func (r *rig) Take() (read, write float64) { return 2, 1 }
