package frontend_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func TestThreads(t *testing.T) {
	t.Run("C129 a thread shows its newest run, whatever a caller remembers", func(t *testing.T) {
		x := newFixture(t, nil)
		first := x.start()
		x.worker.Finish(first.ID, "done")
		second, err := x.say(first.ThreadID, "", "and now this", "")
		if err != nil {
			t.Fatal(err)
		}
		thread, err := x.Thread(t.Context(), anna, first.ThreadID)
		if err != nil || thread.RunID != second.Run.ID || thread.RunID == first.ID || thread.Status == "done" {
			t.Errorf("thread %+v, %v; newest run %s", thread, err, second.Run.ID)
		}
	})
	t.Run("HR15 HR18 a start on a thread whose run is open is refused, and that run is untouched", func(t *testing.T) {
		x := newFixture(t, nil)
		run, _ := x.waiting(core.KindApproval)
		x.unchanged(run.ThreadID, func() {
			_, err := x.Start(t.Context(), anna, "k", wire.StartRequest{Agent: "desk", Input: core.Encode("x"), ThreadID: run.ThreadID})
			x.wantCode(err, refusal.CodeRunOpen)
		})
	})
	t.Run("C193 32 messages at once, from two instances: one run, and no message is lost", func(t *testing.T) {
		x := newFixture(t, nil)
		first := x.start()
		x.worker.Finish(first.ID, "done")
		other := x.over(x.store, nil)
		var wg sync.WaitGroup
		var mu sync.Mutex
		runs := map[string]bool{}
		for i := range 32 {
			front := []*query.Reader{x.Reader, other}[i%2]
			wg.Go(func() {
				s, err := front.Message(t.Context(), anna, first.ThreadID, fmt.Sprint("k", i), wire.MessageRequest{Input: core.Encode(fmt.Sprint("m", i))})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				runs[s.Run.ID] = true
			})
		}
		wg.Wait()
		if h := x.head(first.ThreadID); len(runs) != 1 || !runs[h.Run] || len(h.Inbox) != 32 {
			t.Errorf("runs %v, %d messages", runs, len(h.Inbox))
		}
	})
	t.Run("C203 a reader that goes on from its cursor while others write misses nothing and sees nothing twice", func(t *testing.T) {
		x := newFixture(t, nil)
		run := x.start()
		written := make(chan struct{})
		go func() {
			defer close(written)
			for i := range 20 {
				id := fmt.Sprint("c", i)
				sus := x.worker.Suspend(run.ID, frontendtest.Call{ID: id, Tool: "refund", Kind: core.KindApproval})[id]
				if _, err := x.decide(run.ID, sus, yes); err != nil {
					t.Error(err)
				}
				x.worker.Drain(run.ID)
			}
			x.worker.Finish(run.ID, "done")
		}()
		after, next := "", int64(1)
		for {
			page, err := x.Events(t.Context(), anna, run.ID, query.EventQuery{After: after, Limit: 3})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Items {
				if e.Seq != next {
					t.Fatalf("event %d where %d was due", e.Seq, next)
				}
				next++
			}
			if after = page.Next; page.Done {
				break
			}
		}
		<-written
		if h := x.head(run.ThreadID); next != h.Ev+1 {
			t.Errorf("%d events were read of %d", next-1, h.Ev)
		}
	})
}
