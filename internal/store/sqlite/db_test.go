package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

// The state that most tests here start from.
const (
	tenant = "acme"
	thread = "thr_a"
)

func newHead(thread string) core.Head {
	return core.Head{Identity: core.Identity{Tenant: tenant, Thread: thread, Run: core.RunID(thread, 0), Agent: "a", Version: "v", Schema: core.SchemaVersion},
		Position: core.Position{Sigs: 1}, Origin: core.Origin{Born: 1000}, Inbox: map[string]core.Signal{core.KeyStart: {Kind: core.SignalStart, At: 1000}}}
}

func start(t *testing.T, db *sqlite.DB, h core.Head) core.Head {
	t.Helper()
	w, err := db.Start(t.Context(), engine.StartRequest{Head: h, Due: 6000})
	if err != nil {
		t.Fatal(err)
	}
	return w.Head
}

func claim(t *testing.T, db *sqlite.DB, thread, claim string, now int64) core.Head {
	t.Helper()
	h, err := db.Claim(t.Context(), engine.ClaimRequest{Tenant: tenant, Thread: thread, Claim: claim, Now: now, LeaseEnd: now + 100,
		Due: now + 1000, Schema: core.SchemaVersion})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestOpenAtOnceCreatesOneSchema(t *testing.T) {
	path := newFile(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			db, err := sqlite.Open(t.Context(), path, options(t, enginetest.AtMilli(1000)))
			if err != nil {
				t.Errorf("open %d: %v", i, err)
				return
			}
			if err := db.PutPayload(t.Context(), tenant, thread, fmt.Sprint(i), nil); err != nil {
				t.Errorf("write %d: %v", i, err)
			}
			if err := db.Close(); err != nil {
				t.Errorf("close %d: %v", i, err)
			}
		})
	}
	all.Wait()
}

func TestNobodyElseMayReadTheFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "dormouse.db"), options(t, enginetest.AtMilli(1000)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	start(t, db, newHead(thread))
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
}

func TestNewerFileIsRefusedAndNotTouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "newer.db")
	db, err := sqlite.Open(t.Context(), path, options(t, enginetest.AtMilli(1000)))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw := rawFile(t, path)
	if _, err := raw.Exec("INSERT INTO migrations VALUES (1000, 0); DROP TABLE heads"); err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Open(t.Context(), path, options(t, enginetest.AtMilli(1000)))
	if !errors.Is(err, txfile.ErrNewerFile) {
		t.Fatalf("got %v", err)
	}
	var tables int
	if err := raw.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = 'heads'").Scan(&tables); err != nil || tables != 0 {
		t.Fatalf("%d tables, %v", tables, err)
	}
}

func rawFile(t *testing.T, path string) *sql.DB {
	t.Helper()
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	return raw
}

func TestOpenAgainKeepsEverything(t *testing.T) {
	path := newFile(t)
	db, err := sqlite.Open(t.Context(), path, options(t, enginetest.AtMilli(1000)))
	if err != nil {
		t.Fatal(err)
	}
	want := start(t, db, newHead(thread))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatalf("second close: %v", err)
	}
	if _, err := db.Load(t.Context(), tenant, thread); !errors.Is(err, engine.ErrUnavailable) {
		t.Fatalf("load after close: %v", err)
	}
	if err := db.Send(t.Context(), engine.Wakeup{}, 0); !errors.Is(err, engine.ErrUnavailable) {
		t.Fatalf("send after close: %v", err)
	}
	db = open(t, path, options(t, enginetest.AtMilli(1000)))
	got, err := db.Load(t.Context(), tenant, thread)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestFileThatCannotBeOpened(t *testing.T) {
	for name, path := range map[string]string{"a directory": t.TempDir(), "in no directory": filepath.Join(t.TempDir(), "no", "file")} {
		if _, err := sqlite.Open(t.Context(), path, options(t, enginetest.AtMilli(0))); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
	if _, err := sqlite.Open(t.Context(), newFile(t), sqlite.Options{}); err == nil {
		t.Error("opened without a clock")
	}
}

func TestOperationsThatWaitShareACommit(t *testing.T) {
	db := fresh(t)
	const callers = 64
	before := db.Stats()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for j := range 20 {
				if err := db.PutPayload(t.Context(), tenant, thread, fmt.Sprint(i, j), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	after := db.Stats()
	operations, commits := after.Operations-before.Operations, after.Commits-before.Commits
	if operations != callers*20 || commits > operations/2 {
		t.Fatalf("%d operations in %d commits", operations, commits)
	}
}

func TestEndedCallersGetTheirCause(t *testing.T) {
	db := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := db.Send(ctx, engine.Wakeup{Tenant: tenant, Thread: thread}, 0)
	if !errors.Is(err, engine.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, err := db.Load(ctx, tenant, thread); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	start(t, db, newHead(thread)) // the others' work goes on
}

func TestWakeUpsComeWithTheWrite(t *testing.T) {
	clock := enginetest.AtMilli(1000)
	db := open(t, newFile(t), options(t, clock))
	w, err := db.Start(t.Context(), engine.StartRequest{Head: newHead(thread), Wake: &engine.Delay{}})
	if err != nil || !w.Woken {
		t.Fatalf("woken %v, %v", w.Woken, err)
	}
	select {
	case <-db.Arrived():
	default:
		t.Fatal("nothing arrived")
	}
	receiveOne(t, db)

	again := engine.StartRequest{Head: newHead(thread), Wake: &engine.Delay{}}
	if w, err = db.Start(t.Context(), again); !errors.Is(err, engine.ErrRefused) || w.Woken {
		t.Fatalf("woken %v, %v", w.Woken, err)
	}
	if left, err := db.Receive(t.Context(), 10); len(left) != 0 || err != nil {
		t.Fatalf("a refused write left a wake-up: %v %v", left, err)
	}

	h := claim(t, db, thread, "w1", 1000)
	h.Rev, h.CID, h.Lease = h.Rev+1, core.NewStamp(h.Epoch, 1), 0
	req := engine.CommitRequest{Next: h, Wake: &engine.Delay{For: 2 * time.Second}}
	for range 2 { // the repeat sends nothing
		if w, err = db.Commit(t.Context(), req); err != nil || !w.Woken {
			t.Fatalf("woken %v, %v", w.Woken, err)
		}
	}
	clock.Advance(2*time.Second - time.Millisecond)
	if early, err := db.Receive(t.Context(), 10); len(early) != 0 || err != nil {
		t.Fatalf("visible at %v: %v, %v", clock.Now(), early, err)
	}
	clock.Advance(time.Millisecond)
	receiveOne(t, db)
}

func receiveOne(t *testing.T, db *sqlite.DB) {
	t.Helper()
	ds, err := db.Receive(t.Context(), 10)
	if err != nil || len(ds) != 1 || ds[0].Thread != thread {
		t.Fatalf("received %+v, %v", ds, err)
	}
	if err := db.Ack(t.Context(), ds[0]); err != nil {
		t.Fatal(err)
	}
}

func TestReceivingNothingWritesNothing(t *testing.T) {
	db := fresh(t)
	before := db.Stats()
	if ds, err := db.Receive(t.Context(), 10); err != nil || len(ds) != 0 {
		t.Fatalf("received %+v, %v", ds, err)
	}
	if after := db.Stats(); after != before {
		t.Fatalf("from %+v to %+v", before, after)
	}
}

func TestFreeLeasesMakesClaimedRunsDue(t *testing.T) {
	db := open(t, newFile(t), options(t, enginetest.AtMilli(5000)))
	start(t, db, newHead("thr_idle"))
	start(t, db, newHead(thread))
	held := claim(t, db, thread, "w1", 1000)
	for _, want := range []int{1, 0} {
		if n, err := db.FreeLeases(t.Context()); n != want || err != nil {
			t.Fatalf("freed %d, %v; want %d", n, err, want)
		}
	}
	got := claim(t, db, thread, "w2", 1001)
	if got.Epoch != held.Epoch+1 {
		t.Fatalf("epoch %d after %d", got.Epoch, held.Epoch)
	}
	if idle, err := db.Load(t.Context(), tenant, "thr_idle"); err != nil || idle.Due != 6000 {
		t.Fatalf("idle is due at %d, %v", idle.Due, err)
	}
}

func TestAFreedRunIsDueAtOnce(t *testing.T) {
	const now = 5000
	db := open(t, newFile(t), options(t, enginetest.AtMilli(now)))
	start(t, db, newHead(thread))
	held := claim(t, db, thread, "w1", now-1)
	if held.Due <= now {
		t.Fatalf("claimed, it is due at %d already", held.Due)
	}
	if _, err := db.FreeLeases(t.Context()); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeOverdue(t.Context(), now, now+10, 10)
	if want := (engine.Wakeup{Tenant: tenant, Thread: thread}); err != nil || len(due) != 1 || due[0] != want {
		t.Errorf("the sweep finds %v, %v; want %v before its lease would have ended", due, err, want)
	}
}

func TestFreeLeasesShowsAgainWhatTheDeadHadReceived(t *testing.T) {
	clock := enginetest.AtMilli(1000)
	db := open(t, newFile(t), options(t, clock))
	for range 2 {
		if err := db.Send(t.Context(), engine.Wakeup{Tenant: tenant, Thread: thread}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Send(t.Context(), engine.Wakeup{Tenant: tenant, Thread: "thr_later"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	taken, err := db.Receive(t.Context(), 1)
	if err != nil || len(taken) != 1 {
		t.Fatalf("received %v, %v", taken, err)
	}
	if _, err := db.FreeLeases(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Ack(t.Context(), taken[0]); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("the dead one's ack: %v", err)
	}
	again, err := db.Receive(t.Context(), 10)
	if err != nil || len(again) != 2 || again[0].Attempts+again[1].Attempts != 3 {
		t.Errorf("received %+v, %v", again, err)
	}
}

func TestExpiredKeysMakeRoom(t *testing.T) {
	clock := enginetest.AtMilli(1000)
	db := open(t, newFile(t), options(t, clock))
	h := start(t, db, newHead(thread))
	req := engine.SignalRequest{Tenant: tenant, Thread: thread, Run: h.Run, InboxKey: "m:1", Signal: core.Signal{Kind: core.SignalMessage},
		Key: &engine.Key{Tenant: tenant, Key: "k", Run: h.Run, Expires: 2000}}
	for _, step := range []struct {
		key   string
		taken bool
	}{{"m:1", false}, {"m:2", true}, {"m:3", false}} {
		req.InboxKey = step.key
		_, err := db.Signal(t.Context(), req)
		var taken *engine.KeyTakenError
		if errors.As(err, &taken) != step.taken || err != nil && !step.taken {
			t.Fatalf("%s: got %v", step.key, err)
		}
		clock.Advance(500 * time.Millisecond)
	}
}

func TestUnreadableRowsAreErrors(t *testing.T) {
	for _, damage := range []string{
		"UPDATE heads SET body = 'x'", "UPDATE heads SET calls = '[]'", "UPDATE heads SET timed = ''", "UPDATE heads SET st = 9",
		"UPDATE heads SET body = '{\"out\":3}'", "UPDATE inbox SET value = '{'", "UPDATE heads SET epoch = 'many'",
	} {
		path := filepath.Join(t.TempDir(), "damaged.db")
		db := open(t, path, options(t, enginetest.AtMilli(1000)))
		h := start(t, db, newHead(thread))
		if _, err := rawFile(t, path).Exec(damage); err != nil {
			t.Fatal(err)
		}
		_, load := db.Load(t.Context(), tenant, thread)
		_, signal := db.Signal(t.Context(), engine.SignalRequest{Tenant: tenant, Thread: thread, Run: h.Run, InboxKey: "m:1", Due: 1})
		for what, err := range map[string]error{"load": load, "signal": signal} {
			if err == nil {
				t.Errorf("%s: %s saw nothing", damage, what)
			}
		}
		start(t, db, newHead("thr_other")) // the writer goes on
	}
}

func TestAgents(t *testing.T) {
	db := fresh(t)
	put := func(name, digest, body string) {
		t.Helper()
		err := db.PutDefinition(t.Context(), engine.Definition{Tenant: tenant, Name: name, Digest: digest, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
	}
	put("b", "1", `"one"`)
	put("b", "2", `"two"`)
	put("b", "1", `"never"`)
	put("a", "3", `"three"`)
	if _, err := db.Current(t.Context(), tenant, "b"); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("current before a deploy: %v", err)
	}
	if err := db.Deploy(t.Context(), tenant, "b", "nope"); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("deploy of nothing: %v", err)
	}
	for _, d := range [][2]string{{"b", "2"}, {"b", "1"}, {"a", "3"}} {
		if err := db.Deploy(t.Context(), tenant, d[0], d[1]); err != nil {
			t.Fatal(err)
		}
	}
	one := engine.Definition{Tenant: tenant, Name: "b", Digest: "1", Body: []byte(`"one"`)}
	three := engine.Definition{Tenant: tenant, Name: "a", Digest: "3", Body: []byte(`"three"`)}
	current, err := db.Current(t.Context(), tenant, "b")
	if diff := cmp.Diff(one, current); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	all, err := db.Deployed(t.Context(), tenant)
	if diff := cmp.Diff([]engine.Definition{three, one}, all); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	two, err := db.Definition(t.Context(), tenant, "b", "2")
	if err != nil || string(two.Body) != `"two"` {
		t.Fatalf("got %s, %v", two.Body, err)
	}
	if _, err := db.Definition(t.Context(), "another", "b", "2"); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("definition of another tenant: %v", err)
	}
}
