package enginetest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// Urgent lists the heads of tenant acme by urgency.
type Urgent func(ctx context.Context, cursor string, limit int) (heads []core.Head, next string, err error)

// What waits is listed by urgency, and no run that stays open is skipped, however others come and
// go between the pages: by the index of a store, and in windows.
func TestUrgency(t *testing.T) {
	for name, run := range map[string]func(t *storeTest, list Urgent){"order": testUrgentOrder, "pages": testUrgentPages} {
		for _, windows := range []bool{false, true} {
			t.Run(fmt.Sprint(name, windows), func(t *testing.T) {
				db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), sqlite.Options{Clock: AtMilli(1000), Random: NewRandom(t, 1), Sync: dbfile.SyncOff})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { db.Close() })
				run(&storeTest{T: t, store: db}, func(ctx context.Context, cursor string, limit int) ([]core.Head, string, error) {
					if windows {
						return query.Windows(db, tenant, 1000)(ctx, cursor, limit)
					}
					return db.Urgent(ctx, tenant, cursor, limit)
				})
			})
		}
	}
}

// until brings a thread to where it waits with a deadline; 0 is none.
func (t *storeTest) until(thread string, deadline int64) core.Head {
	t.Helper()
	req := suspend(t.claim(t.start(thread), "claim of "+thread, 1000), 1, "sus_1")
	ask(&req, "c1", deadline)
	req.Next.Oldest = thread + "#" + req.Next.Run
	return t.commit(req)
}

func ask(req *engine.CommitRequest, call string, deadline int64) {
	req.Next.Calls[call] = core.Call{Status: core.CallSuspended, Wait: core.Wait{Kind: core.KindApproval, Sus: "sus_" + call, Deadline: deadline}}
	req.Next.At = 1500
}

// pages reads a list to its end, each thread where it came first. Between says what happens behind
// each page.
func (t *storeTest) pages(list Urgent, limit int, between func(page int)) (threads []string) {
	t.Helper()
	for cursor, page := "", 1; ; page++ {
		heads, next, err := list(t.Context(), cursor, limit)
		t.must(err)
		for _, h := range heads {
			if !slices.Contains(threads, h.Thread) {
				threads = append(threads, h.Thread)
			}
		}
		if cursor = next; cursor == "" {
			return threads
		}
		between(page)
	}
}

func testUrgentOrder(t *storeTest, list Urgent) {
	for thread, deadline := range map[string]int64{"thr_a": 0, "thr_b": 1700000000300, "thr_c": 1700000000100, "thr_d": 0, "thr_e": 1700000000200} {
		t.until(thread, deadline)
	}
	t.done("thr_z")
	want := []string{"thr_c", "thr_e", "thr_b", "thr_a", "thr_d"}
	for _, limit := range []int{1, 2, 3, 5, 9} {
		t.equal("threads by urgency", t.pages(list, limit, func(int) {}), want)
	}
	for _, cursor := range []string{"?", "bm9wZQ"} {
		_, _, err := list(t.Context(), cursor, 5)
		t.wantErr(err, engine.ErrRefused)
	}
}

func testUrgentPages(t *storeTest, list Urgent) {
	const at = 1700000000000
	heads := map[string]core.Head{}
	var stay []string
	for i := range int64(9) {
		thread := numbered("thr_", int(i))
		heads[thread] = t.until(thread, at+10*i)
		stay = append(stay, thread)
	}
	seen := t.pages(list, 2, func(page int) {
		switch page {
		case 1: // of those shown and not shown, one is answered each, and another waits
			for _, gone := range []string{"thr_000", "thr_005"} {
				t.commit(finish(t.claim(t.signal(decide1(heads[gone])), "w2", 1000), 2))
				stay = slices.DeleteFunc(stay, func(s string) bool { return s == gone })
			}
			t.until("thr_new", at+5)
		case 2: // the last one asks what is more urgent than all that was shown
			h := t.claim(t.signal(say(heads["thr_008"], "go on")), "w3", 1000)
			req := suspend(h, 2, "sus_1")
			ask(&req, "c1", at+80)
			ask(&req, "c2", at+1)
			req.Next.Oldest = heads["thr_008"].Oldest
			t.commit(req)
		}
	})
	for _, thread := range stay {
		if !slices.Contains(seen, thread) {
			t.Errorf("%s stayed open and was not listed: %v", thread, seen)
		}
	}
}

func decide1(h core.Head) engine.SignalRequest {
	return engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: "sus_c1", Signal: decision("d"),
		Call: "c1", Suspension: "sus_c1", Due: 9000}
}
