package txfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
)

// maxBatch limits how many operations share one transaction.
const maxBatch = 128

var errClosed = fmt.Errorf("%w: the file is closed", engine.ErrUnavailable)

// operation is one caller's write.
type operation struct {
	ctx    context.Context
	run    func(*Tx) error
	answer func(error)
	err    error
}

// writer owns the only connection that writes.
type writer struct {
	file  *File
	pool  *sql.DB
	conn  *sql.Conn
	files dbfile.Files
	log   ledger
	stmts statements
	// unbuffered, so that an operation is either with its caller or with the writer
	queue  chan *operation
	stop   chan struct{}
	done   chan struct{}
	counts counts
}

type counts struct {
	commits, operations, statements, bytes atomic.Int64
}

// Stats counts the work of the writer since the file was opened.
type Stats struct {
	Commits      int64 // transactions
	Operations   int64 // writes of callers, including refused ones
	Statements   int64 // of those operations, excluding savepoints and commits
	BytesWritten int64 // text and blobs bound to those statements
}

// Stats returns the counts so far.
func (f *File) Stats() Stats {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.writer == nil {
		return Stats{}
	}
	c := &f.writer.counts
	return Stats{Commits: c.commits.Load(), Operations: c.operations.Load(), Statements: c.statements.Load(),
		BytesWritten: c.bytes.Load()}
}

func (f *File) startWriter(pool *sql.DB, conn *sql.Conn, are dbfile.Files) *writer {
	w := &writer{file: f, pool: pool, conn: conn, files: are, queue: make(chan *operation), stop: make(chan struct{}), done: make(chan struct{})}
	w.stmts.prepare = conn.PrepareContext
	go w.loop()
	return w
}

// Write runs fn in the writer's next transaction and returns its result once that is committed. If
// fn returns an error, its writes are undone. If ctx ends before the answer, or the disk hangs, the
// error wraps [engine.ErrUnavailable] and the cause, and fn may or may not still run.
func Write[T any](ctx context.Context, f *File, fn func(*Tx) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var value, zero T
	answered := make(chan result, 1)
	op := &operation{ctx: ctx}
	op.run = func(t *Tx) (err error) {
		value, err = fn(t)
		return err
	}
	op.answer = func(err error) {
		if errors.Is(err, engine.ErrUnavailable) {
			value = zero
		}
		answered <- result{value, err}
	}
	w, err := f.writing(ctx)
	if err != nil {
		return zero, err
	}
	hung := make(chan struct{})
	defer f.opts.watch.AfterFunc(answerWithin, func() { close(hung) })()
	if err := w.submit(ctx, op, hung); err != nil {
		return zero, err
	}
	select {
	case r := <-answered:
		return r.value, r.err
	case <-hung:
		return zero, errHung
	case <-ctx.Done():
		return zero, dbfile.Unavailable(context.Cause(ctx))
	}
}

// A hanging disk neither accepts a write nor refuses it.
const (
	// after this time a write is answered with an unknown outcome
	answerWithin = 15 * time.Second
	hangsAfter   = 10 * time.Second // of one batch: then the disk counts as failing
)

// stopwatch is the clock that detects a hanging disk: the machine's clock, whatever clock the
// program uses.
type stopwatch struct{}

func (stopwatch) Now() time.Time { return time.Now() }

func (stopwatch) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

var errHung = fmt.Errorf("%w: it has not completed a write for %s", engine.ErrDisk, answerWithin)

func (w *writer) submit(ctx context.Context, op *operation, hung <-chan struct{}) error {
	select {
	case w.queue <- op:
		return nil
	case <-hung:
		return errHung
	case <-ctx.Done():
		return dbfile.Unavailable(context.Cause(ctx))
	case <-w.stop:
		return errClosed
	}
}

func (w *writer) loop() {
	defer close(w.done)
	for {
		select {
		case op := <-w.queue:
			w.file.troubles.work(w.file.opts.watch.Now())
			w.commit(w.gather(op))
			w.keepUp()
			w.file.troubles.work(time.Time{})
		case <-w.stop:
			return
		}
	}
}

// gather adds the operations that are waiting now to first.
func (w *writer) gather(first *operation) []*operation {
	// callers that were just answered may have another operation: without this every second
	// batch would have a single operation
	runtime.Gosched()
	batch := []*operation{first}
	for len(batch) < maxBatch {
		select {
		case op := <-w.queue:
			batch = append(batch, op)
		default:
			return batch
		}
	}
	return batch
}

// commit runs a batch in one transaction. It gives all answers after the commit, including
// refusals, which may depend on writes of other operations in the batch.
func (w *writer) commit(batch []*operation) {
	notices, err := w.transact(batch)
	// so that only operations on damaged data fail
	if len(batch) > 1 && errors.Is(err, engine.ErrDamaged) {
		for _, op := range batch {
			op.err = nil
			w.commit([]*operation{op})
		}
		return
	}
	w.counts.operations.Add(int64(len(batch)))
	if err == nil {
		w.counts.commits.Add(1)
	}
	w.file.watchers.tell(notices)
	for _, op := range batch {
		if err != nil {
			op.err = err
		}
		op.answer(op.err)
	}
}

// transact returns the topics of the notices.
func (w *writer) transact(batch []*operation) (notices map[any]bool, err error) {
	ctx := context.Background() // one caller's end must not stop the work of others
	if err := w.file.troubles.over(); err != nil {
		return nil, err
	}
	if err := w.longest(ctx); err != nil {
		return nil, err
	}
	if full := w.file.opts.NoRoom; full != nil && full() {
		return nil, w.file.failed(syscall.ENOSPC)
	}
	if err := w.do(ctx, "BEGIN IMMEDIATE"); err != nil {
		return nil, w.file.failed(err)
	}
	notices = map[any]bool{}
	for _, op := range batch {
		topics, err := w.run(ctx, op)
		if err != nil {
			w.rollback(ctx)
			return nil, w.file.failed(err)
		}
		for _, topic := range topics {
			notices[topic] = true
		}
	}
	logs, err := w.count(ctx)
	if err == nil {
		err = w.do(ctx, "COMMIT")
	}
	if err != nil {
		w.rollback(ctx)
		return nil, w.file.failed(err)
	}
	w.wrote()
	w.counted(logs)
	return notices, w.file.look(w.files) // before it is acknowledged
}

// rollback undoes the transaction, unless SQLite already has. What was written is not counted.
func (w *writer) rollback(ctx context.Context) {
	_ = w.do(ctx, "ROLLBACK")
	_, _ = pagesWritten(w.conn)
}

// run runs one operation in its savepoint. Its error is a failure of the entire transaction; a
// refusal of the operation goes to op.err.
func (w *writer) run(ctx context.Context, op *operation) (topics []any, err error) {
	if cause := context.Cause(op.ctx); cause != nil {
		op.err = dbfile.Unavailable(cause)
		return nil, nil
	}
	if err := w.do(ctx, "SAVEPOINT operation"); err != nil {
		return nil, err
	}
	t := &Tx{ctx: ctx, stmts: &w.stmts, counts: &w.counts}
	op.err = op.run(t)
	if dbfile.Fatal(op.err) {
		return nil, op.err
	}
	if op.err != nil {
		t.topics = nil
		if err := w.do(ctx, "ROLLBACK TO operation"); err != nil {
			return nil, err
		}
	}
	return t.topics, w.do(ctx, "RELEASE operation")
}

func (w *writer) do(ctx context.Context, query string) error {
	stmt, err := w.stmts.get(ctx, query)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx)
	return err
}

func (w *writer) close() error {
	close(w.stop)
	<-w.done
	w.finish(context.Background())
	if w.file.troubles.over() != nil {
		// The last connection of a file copies the log when it is closed, and removes the
		// file at the log's path. The former would do harm after a failed flush, and the
		// latter after a move. The files are closed when the process ends.
		return nil
	}
	w.stmts.close()
	return errors.Join(w.conn.Close(), w.pool.Close())
}

// finish copies the log and flushes the mark. What fails here is left to the next start.
func (w *writer) finish(ctx context.Context) {
	if w.file.mark.Off || w.file.look(w.files) != nil {
		return
	}
	_ = w.copyLog(ctx, "TRUNCATE")
	w.file.mark.Flush()
}

// count counts the log in a transaction, unless one in the log has already done so.
func (w *writer) count(ctx context.Context) (logs int64, err error) {
	if w.log.counted || w.file.mark.Off {
		return 0, nil
	}
	stmt, err := w.stmts.get(ctx, mark.CountLog)
	if err == nil {
		err = stmt.QueryRowContext(ctx).Scan(&logs)
	}
	return logs, err
}

// counted records that the log is counted, after the commit; 0 means that it was counted before.
func (w *writer) counted(logs int64) {
	if logs != 0 {
		w.log.counted = true
		if w.file.mark.Advance(logs) {
			w.file.end(fmt.Errorf("%w: another server on the same directory ended after a failed flush of the database", engine.ErrDisk))
		}
	}
}
