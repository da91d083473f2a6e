package sqlite

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

func openTemp(t *testing.T) (*DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), path, Options{Clock: enginetest.AtMilli(1000), Random: enginetest.NewRandom(t, 1), Sync: SyncOff})
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
	head := core.Head{Tenant: "a", Thread: "thr_a", Run: "run_a_0", Schema: 1, Born: 1,
		Inbox: map[string]core.Signal{"m:start": {Kind: core.SignalStart}}}
	key := &engine.Key{Tenant: "a", Key: "k"}
	db.Start(ctx, engine.StartRequest{Head: head, Key: key, Wake: &engine.Delay{}})
	h, _ := db.Claim(ctx, engine.ClaimRequest{Tenant: "a", Thread: "thr_a", Claim: "c", Now: now, LeaseEnd: now, Due: now, Schema: 1})
	db.Signal(ctx, engine.SignalRequest{Tenant: "a", Thread: "thr_a", Run: "run_a_0", InboxKey: "m:1"})
	db.Signal(ctx, engine.SignalRequest{Tenant: "a", Thread: "thr_a", Key: key})
	h.Rev, h.CID, h.Status = h.Rev+1, core.NewStamp(h.Epoch, 1), core.RunDone
	h.Seq = 1
	w, err := db.Commit(ctx, engine.CommitRequest{Next: h, Drained: []string{"m:start", "m:1"}, Segment: &core.Segment{Seq: 1, W: h.CID}})
	if err != nil {
		t.Fatal(err)
	}
	head.Rev, head.Run = w.Head.Rev+1, "run_a_1"
	db.Start(ctx, engine.StartRequest{Head: head, Prior: &w.Head})
	db.TakeOverdue(ctx, now, now, 5)
	db.FreeLeases(ctx)
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
}

// readsWholeTable finds a step of a query plan that visits every row of a table and not of an index in order.
var readsWholeTable = regexp.MustCompile(`^SCAN \w+$`)

func TestEveryQueryUsesAnIndex(t *testing.T) {
	db, _ := openTemp(t)
	exercise(t, db)
	for _, known := range []map[string]bool{queries(&db.writer.stmts), queries(&db.reads)} {
		for query := range known {
			for _, line := range plan(t, db, query) {
				sorts := strings.Contains(line, "USE TEMP B-TREE")
				if (readsWholeTable.MatchString(line) || sorts) && !strings.Contains(query, "FROM dead") {
					t.Errorf("%s\nin %s", line, query)
				}
			}
		}
	}
}

func queries(s *statements) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]bool{}
	for query := range s.known {
		if !strings.Contains(query, "operation") && strings.Contains(query, " ") && !strings.HasPrefix(query, "BEGIN") {
			all[query] = true
		}
	}
	return all
}

func plan(t *testing.T, db *DB, query string) (lines []string) {
	t.Helper()
	rows, err := db.reader.Query("EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatalf("%v\nin %s", err, query)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestBusyFileIsUnavailable(t *testing.T) {
	db, path := openTemp(t)
	if _, err := db.writer.conn.ExecContext(t.Context(), "PRAGMA busy_timeout = 0"); err != nil {
		t.Fatal(err)
	}
	other, err := Open(t.Context(), path, Options{Clock: enginetest.AtMilli(1000), Random: enginetest.NewRandom(t, 2)})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	lock := other.writer.conn
	if _, err := lock.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if err := db.Send(t.Context(), engine.Wakeup{}, 0); !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	if _, err := lock.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := db.Send(t.Context(), engine.Wakeup{}, 0); err != nil {
		t.Fatal(err)
	}
}

func TestRefusalUndoesItsOwnWritesOnly(t *testing.T) {
	db, _ := openTemp(t)
	put := func(key string, fail error) *operation {
		op := &operation{ctx: t.Context(), answer: func(error) {}}
		op.run = func(t *tx) error { return errors.Join(t.putKey(&engine.Key{Tenant: "a", Key: key}, 0), fail) }
		return op
	}
	refusal := errors.New("refused")
	batch := []*operation{put("one", nil), put("two", refusal), put("two", nil), put("three", refusal)}
	db.writer.commit(batch)
	for i, want := range []error{nil, refusal, nil, refusal} {
		if !errors.Is(batch[i].err, want) || (want == nil) != (batch[i].err == nil) {
			t.Errorf("operation %d: got %v, want %v", i, batch[i].err, want)
		}
	}
	var keys int
	err := db.read(t.Context(), func(s scanner) error { return s.Scan(&keys) }, "SELECT count(*) FROM keys")
	if err != nil || keys != 2 {
		t.Fatalf("%d keys, %v", keys, err)
	}
}

func TestFailedCommitIsNobodysSuccess(t *testing.T) {
	db, _ := openTemp(t)
	broken := func(t *tx) error {
		_, err := t.exec("INSERT INTO keys VALUES ('a', 'k', '', '', 0)")
		return err
	}
	end := func(t *tx) error { // as SQLite does itself when the disk is full
		_, err := t.exec("ROLLBACK")
		return err
	}
	var ops []*operation
	for _, run := range []func(*tx) error{broken, end, broken} {
		ops = append(ops, &operation{ctx: t.Context(), run: run, answer: func(error) {}})
	}
	db.writer.commit(ops)
	for i, op := range ops {
		if !errors.Is(op.err, engine.ErrUnavailable) {
			t.Errorf("operation %d: got %v", i, op.err)
		}
	}
	if err := db.Send(t.Context(), engine.Wakeup{}, 0); err != nil {
		t.Fatal(err)
	}
	var keys int
	err := db.read(t.Context(), func(s scanner) error { return s.Scan(&keys) }, "SELECT count(*) FROM keys")
	if err != nil || keys != 0 {
		t.Fatalf("%d keys, %v", keys, err)
	}
}
