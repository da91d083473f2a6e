package txfile

import (
	"errors"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

func TestBusyFileIsUnavailable(t *testing.T) {
	f := openTemp(t)
	if _, err := f.writer.conn.ExecContext(t.Context(), "PRAGMA busy_timeout = 0"); err != nil {
		t.Fatal(err)
	}
	other, err := Open(t.Context(), f.path, options(t))
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
			if err := exec(t.Context(), f, put("one", nil)); !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	if _, err := lock.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := exec(t.Context(), f, put("one", nil)); err != nil {
		t.Fatal(err)
	}
}

func TestRefusalUndoesItsOwnWritesOnly(t *testing.T) {
	f := openTemp(t)
	operationOf := func(name string, fail error) *operation {
		op := &operation{ctx: t.Context(), answer: func(error) {}}
		op.run = func(t *Tx) error { return errors.Join(put(name, nil)(t), fail) }
		return op
	}
	refusal := errors.New("refused")
	batch := []*operation{operationOf("one", nil), operationOf("two", refusal), operationOf("two", nil), operationOf("three", refusal)}
	f.writer.commit(batch)
	for i, want := range []error{nil, refusal, nil, refusal} {
		if !errors.Is(batch[i].err, want) || (want == nil) != (batch[i].err == nil) {
			t.Errorf("operation %d: got %v, want %v", i, batch[i].err, want)
		}
	}
	if n := things(t, f); n != 2 {
		t.Fatalf("%d things", n)
	}
}

func TestFailedCommitIsNobodysSuccess(t *testing.T) {
	f := openTemp(t)
	end := func(t *Tx) error { // as SQLite does itself when the disk is full
		_, err := t.Exec("ROLLBACK")
		return err
	}
	var ops []*operation
	for _, run := range []func(*Tx) error{put("one", nil), end, put("one", nil)} {
		ops = append(ops, &operation{ctx: t.Context(), run: run, answer: func(error) {}})
	}
	f.writer.commit(ops)
	for i, op := range ops {
		if !errors.Is(op.err, engine.ErrUnavailable) {
			t.Errorf("operation %d: got %v", i, op.err)
		}
	}
	if n := things(t, f); n != 0 {
		t.Fatalf("%d things", n)
	}
	if err := exec(t.Context(), f, put("one", nil)); err != nil {
		t.Fatal(err)
	}
}

// Those who watch hear of what was committed, once for a batch, and of nothing that was refused.
func TestNoticesAreOfWhatWasCommitted(t *testing.T) {
	f := openTemp(t)
	changed, stop := Watch(f, "changed")
	refused, leave := Watch(f, "refused")
	defer leave()
	notify := func(topic any, err error) *operation {
		return &operation{ctx: t.Context(), answer: func(error) {}, run: func(t *Tx) error { t.Notify(topic); return err }}
	}
	f.writer.commit([]*operation{notify("changed", nil), notify("refused", engine.ErrRefused), notify("changed", nil)})
	if len(changed) != 1 || len(refused) != 0 {
		t.Errorf("%d notices of a change, %d of a refusal", len(changed), len(refused))
	}
	<-changed
	stop()
	f.writer.commit([]*operation{notify("changed", nil)})
	if len(changed) != 0 {
		t.Error("a notice came after the end")
	}
}
