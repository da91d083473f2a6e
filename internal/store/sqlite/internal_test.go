package sqlite

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

func openTemp(t *testing.T) (*DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), path, Options{Clock: enginetest.AtMilli(1000), Random: enginetest.NewRandom(t, 1), Sync: dbfile.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, path
}

// exercise sends one of each request, so that every query is known.
func exercise(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), int64(1000)
	head := core.Head{Identity: core.Identity{Tenant: "a", Thread: "thr_a", Run: "run_a_0", Schema: 1}, Origin: core.Origin{Born: 1},
		Inbox: map[string]core.Signal{"m:start": {Kind: core.SignalStart}}}
	key := &engine.Key{Tenant: "a", Key: "k"}
	db.Start(ctx, engine.StartRequest{Head: head, Key: key, Wake: &engine.Delay{}})
	h, _ := db.Claim(ctx, engine.ClaimRequest{Tenant: "a", Thread: "thr_a", Claim: "c", Now: now, LeaseEnd: now, Due: now, Schema: 1})
	db.Signal(ctx, engine.SignalRequest{Tenant: "a", Thread: "thr_a", Run: "run_a_0", InboxKey: "m:1"})
	db.Signal(ctx, engine.SignalRequest{Tenant: "a", Thread: "thr_a", Key: key})
	h.Rev, h.CID, h.Status = h.Rev+1, core.NewStamp(h.Epoch, 1), core.RunDone
	h.Seq, h.End = 1, &core.Reason{Kind: core.NaturalEnd}
	w, err := db.Commit(ctx, engine.CommitRequest{Next: h, Drained: []string{"m:start", "m:1"}, Segment: &core.Segment{Seq: 1, W: h.CID}})
	if err != nil {
		t.Fatal(err)
	}
	head.Rev, head.Run = w.Head.Rev+1, "run_a_1"
	db.Start(ctx, engine.StartRequest{Head: head, Prior: &w.Head})
	db.Start(ctx, engine.StartRequest{Head: head, Prior: &w.Head, Owned: true})
	db.TakeOverdue(ctx, now, now, 5)
	db.FreeLeases(ctx)
	db.FarAhead(ctx, true)
	db.Recall(ctx, 1000)
	db.Probe(ctx)
	for range 2 {
		ds, err := db.Receive(ctx, 5)
		if err != nil || len(ds) != 1 {
			t.Fatal(ds, err)
		}
		db.Nack(ctx, ds[0], 0, "")
	}
	db.Ack(ctx, engine.Delivery{ID: "1"})
	db.Redrive(ctx, 5)
	db.DeadLetters(ctx, 5)
	db.PutPayload(ctx, "a", "thr_a", "d", nil)
	db.Payload(ctx, "a", "thr_a", "d")
	db.Segments(ctx, "a", "thr_a", 1, 5)
	db.Archived(ctx, "a", "run_a_0")
	db.Runs(ctx, "a", "", "", 5)
	db.Runs(ctx, "a", "thr_a", "", 5)
	db.Approvals(ctx, "a", "", 5)
	db.Load(ctx, "a", "thr_a")
	db.PutDefinition(ctx, engine.Definition{})
	db.Deploy(ctx, "a", "b", "c")
	db.Definition(ctx, "a", "b", "c")
	db.Current(ctx, "a", "b")
	db.Deployed(ctx, "a")
	db.Tenants(ctx)
	db.Remind(ctx, engine.Wakeup{Tenant: "a", Thread: "thr_a"})
}

// readsWholeTable finds a step of a query plan that visits every row of a table and not of an index
// in order.
var readsWholeTable = regexp.MustCompile(`^SCAN \w+$`)

// wholeByIntent: the dead letters, once at the start the few rows that say which tenant has which
// agents, and the list of tenants that a query has made by seeking from one to the next; the queue
// after the clock was set back; and the order of runs that began in the same millisecond.
func wholeByIntent(query, step string) bool {
	return strings.Contains(query, "FROM dead") || strings.HasPrefix(query, "SELECT tenant FROM deployed") || step == "SCAN line" ||
		query == recallWakeups || query == headPage+newestFirst && strings.HasSuffix(step, "FOR LAST TERM OF ORDER BY")
}

func TestEveryQueryUsesAnIndex(t *testing.T) {
	db, _ := openTemp(t)
	exercise(t, db)
	for _, query := range queries(db) {
		for _, line := range plan(t, db, query) {
			sorts := strings.Contains(line, "USE TEMP B-TREE")
			if (readsWholeTable.MatchString(line) || sorts) && !wholeByIntent(query, line) {
				t.Errorf("%s\nin %s", line, query)
			}
		}
	}
}

// A page of what waits begins in the index where the page before ended.
func TestAPageOfTheInboxBeginsInItsIndex(t *testing.T) {
	db, _ := openTemp(t)
	for query, want := range map[string]string{
		urgentPage:    "SEARCH heads USING INDEX heads_urgent (tenant=? AND (urgent,asks)>(?,?))",
		approvalsPage: "SEARCH heads USING INDEX heads_oldest (tenant=? AND oldest>?)",
	} {
		if lines := plan(t, db, query); lines[0] != want {
			t.Errorf("%q in %s", lines, query)
		}
	}
}

func queries(db *DB) (all []string) {
	for _, query := range db.Queries() {
		if !strings.Contains(query, "operation") && strings.Contains(query, " ") && !strings.HasPrefix(query, "BEGIN") {
			all = append(all, query)
		}
	}
	return all
}

func plan(t *testing.T, db *DB, query string) (lines []string) {
	t.Helper()
	err := db.read(t.Context(), func(s dbfile.Scanner) error {
		var id, parent, unused int
		var line string
		err := s.Scan(&id, &parent, &unused, &line)
		lines = append(lines, line)
		return err
	}, "EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatalf("%v\nin %s", err, query)
	}
	return lines
}

// What version 1 of a head looked like in the file, written by hand so that it stays.
const storedHead = `INSERT INTO heads (tenant, thread, run, agent, v, st, epoch, rev, cid, seq, seg, ev, sigs, lease, claim, tries,
	dl, not_before, nsus, has_end, oldest, born, due, calls, timed, body)
	VALUES ('a', 'thr_a', 'run_a_0', 'desk', 1, 2, 3, 5, 3145730, 2, 3145729, 12, 1, 0, 'c', 0, 0, 0, 1, 0, 'sus_2_x#run_a_0', 7, 0,
	'{"c1":{"st":"suspended","kind":"approval","sus":"sus_2_x","n":1}}', '{}',
	'{"av":"sha256:1","idem":"d","round":2,"step":1,"turn":1,"acts":2,"tin":10,"tout":3,"so":true,"to":true,"at":9,"seq0":0,"ev0":0}')`

func TestAStoredHeadLoadsAndGoesOn(t *testing.T) {
	db, _ := openTemp(t)
	if err := exec(t.Context(), db, func(t *tx) error { _, err := t.Exec(storedHead); return err }); err != nil {
		t.Fatal(err)
	}
	h, err := db.Load(t.Context(), "a", "thr_a")
	if err != nil {
		t.Fatal(err)
	}
	if h.Schema != 1 || h.Status != core.RunWaiting || h.Calls["c1"].Sus != "sus_2_x" || h.Round != 2 || h.Step != 1 || h.Version != "sha256:1" {
		t.Fatalf("head %+v", h)
	}
	pause := engine.SignalRequest{Tenant: "a", Thread: "thr_a", Run: "run_a_0", InboxKey: core.KeyPause}
	if _, err := db.Signal(t.Context(), pause); err != nil {
		t.Fatalf("an interrupt of a head that has never been interrupted: %v", err)
	}
	if h, err = db.Claim(t.Context(), engine.ClaimRequest{Tenant: "a", Thread: "thr_a", Claim: "c2", Now: 10, LeaseEnd: 20, Schema: core.SchemaVersion}); err != nil {
		t.Fatal(err)
	}
	h.Schema, h.Rev, h.CID, h.NoMemory, h.Grants = core.SchemaVersion, h.Rev+1, core.NewStamp(h.Epoch, 1), true, []string{"refund"}
	if _, err := db.Commit(t.Context(), engine.CommitRequest{Next: h}); err != nil {
		t.Fatal(err)
	}
	if h, err = db.Load(t.Context(), "a", "thr_a"); err != nil || h.Schema != core.SchemaVersion || !h.NoMemory || len(h.Grants) != 1 {
		t.Fatalf("head %+v, %v", h, err)
	}
}
