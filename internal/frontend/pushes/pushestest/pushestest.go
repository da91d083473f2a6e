// Package pushestest is the contract of stores of push notifications, as one suite for all of them.
package pushestest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/pushes"
)

// Test checks a store. Open returns an empty one, closed by the test's cleanup.
func Test(t *testing.T, open func(t *testing.T) pushes.Store) {
	for name, run := range map[string]func(*storeTest){
		"they are read as they were stored":           testPut,
		"of rival changes of one revision one counts": testRivals,
		"tenants and tasks are apart":                 testApart,
	} {
		t.Run(name, func(t *testing.T) { run(&storeTest{t, open(t)}) })
	}
}

type storeTest struct {
	*testing.T
	pushes.Store
}

const now = 1 << 41

func (t *storeTest) put(p notice.Pushes, want error) {
	t.Helper()
	if err := t.PutPushes(t.Context(), p); !errors.Is(err, want) {
		t.Fatalf("revision %d: %v, want %v", p.Rev, err, want)
	}
}

func (t *storeTest) has(tenant, group string, want notice.Pushes) {
	t.Helper()
	got, err := t.Pushes(t.Context(), tenant, group)
	if want.Rev == 0 {
		if !errors.Is(err, engine.ErrNotFound) {
			t.Fatalf("%+v, %v", got, err)
		}
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
}

func testPut(t *storeTest) {
	of := notice.Pushes{Tenant: "acme", Group: "tg_1"}
	t.has("acme", "tg_1", of)
	first := of.With(notice.Push{ID: "a", URL: "https://a.example/\u2028?x=1", Token: "t", Scheme: "Bearer", Credentials: "c d", Context: "chat #7%", AllowPrivate: true, By: "token:anna"}, now)
	t.put(first, nil)
	t.put(first, nil) // its answer was lost
	t.has("acme", "tg_1", first)
	second := first.With(notice.Push{ID: "b", URL: "https://b.example/"}, now+1)
	t.put(second, nil)
	t.put(first, engine.ErrRefused)
	t.put(of.With(notice.Push{ID: "c"}, now+1), engine.ErrRefused)
	third := second.Without("a", now+2).Without("b", now+2)
	third.Rev = second.Rev + 1
	t.put(third, nil)
	t.has("acme", "tg_1", third)
	ahead := third
	ahead.Rev += 2
	t.put(ahead, engine.ErrRefused)
	t.put(notice.Pushes{Tenant: "acme", Group: "tg_2", Rev: 2, At: now}, engine.ErrRefused)
	t.has("acme", "tg_2", notice.Pushes{})
}

func testRivals(t *storeTest) {
	first := notice.Pushes{Tenant: "acme", Group: "tg_1"}.With(notice.Push{ID: "a"}, now)
	t.put(first, nil)
	var group sync.WaitGroup
	var won atomic.Int64
	for n := range 8 {
		group.Go(func() {
			switch err := t.PutPushes(t.Context(), first.With(notice.Push{ID: string(rune('b' + n))}, now+int64(n))); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, engine.ErrRefused):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got, err := t.Pushes(t.Context(), "acme", "tg_1"); err != nil || won.Load() != 1 || got.Rev != 2 || len(got.All) != 2 {
		t.Errorf("%d won, and now it is %+v, %v", won.Load(), got, err)
	}
}

func testApart(t *storeTest) {
	one := notice.Pushes{Tenant: "acme", Group: "tg_1"}.With(notice.Push{ID: "a"}, now)
	t.put(one, nil)
	for _, other := range [][2]string{{"zoo", "tg_1"}, {"acme", "tg_2"}, {"acme#tg_1", ""}, {"", "acme#tg_1"}} {
		t.has(other[0], other[1], notice.Pushes{})
	}
}
