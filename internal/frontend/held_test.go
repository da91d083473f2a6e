package frontend_test

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// stopped is a clock on which no wait is ever over.
type stopped struct{ time.Time }

func (s stopped) Now() time.Time                              { return s.Time }
func (stopped) AfterFunc(time.Duration, func()) (stop func()) { return func() {} }

// On a clock that stands still nothing but being told ends a held read.
func TestAHeldReadIsAnsweredWhenItIsToldOfTheChange(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	watched := make(chan string, 1)
	front := query.New(frontend.New(frontend.Options{Store: x.store, Catalog: frontendtest.NewCatalog("desk"), Waker: x.waker,
		Clock: stopped{x.clock.Now()}, Random: x.random, Watch: func(tenant, thread string) (<-chan struct{}, func()) {
			changed, stop := x.store.Watch(tenant, thread)
			watched <- thread
			return changed, stop
		}}))
	answered := make(chan string)
	go func() {
		got, err := front.AwaitRun(t.Context(), anna, run.ID, time.Minute)
		if err != nil {
			t.Error(err)
		}
		answered <- got.Status
	}()
	if thread := <-watched; thread != run.ThreadID {
		t.Errorf("watches %s", thread)
	}
	x.worker.Finish(run.ID, "done")
	if status := <-answered; status != "done" {
		t.Errorf("answered as %s", status)
	}
}
