package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// SQLite copies its log to the main file by itself, now and then, and keeps the result of that for
// itself. Two things make it ours:
//
//	copy: flush of the main file fails ── next copy: flush succeeds ── the log is reused ── loss of power
//
// The second flush does not write the pages again whose writing failed in the first: the system
// counts them as written. They are lost with the power, and the log has them no more. So after a
// failed flush nothing is copied, and the process ends: the next one finds a whole log and copies
// all of it again, see [DB.alone]. And a copy that fails for ever (a full disk) lets the log grow
// without an end.

// What the log may grow to.
const (
	pageSize  = 4096    // and 24 bytes before each page in the log
	copyPages = 1000    // that were written since the last copy: then the next is made
	waitFor   = 4       // times as many that are not copied: then readers are waited for
	logMost   = 1 << 30 // bytes of a log that cannot be copied: then writes are refused
)

// waitReaders bounds how long a copy keeps the writer waiting for readers, in ms.
const waitReaders = 250

// ledger is what is known of the log. Only the writer changes it.
type ledger struct {
	pages   int          // written since the last try to copy
	counted bool         // a transaction that is in the log counts it, see [schemaMark]
	behind  atomic.Int64 // pages that are in the log and not in the main file
	tried   int64        // behind when readers were waited for last
}

// LogBytes is how much was committed and is not in the main file yet.
func (db *DB) LogBytes() int64 {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if db.writer == nil {
		return 0
	}
	return db.writer.log.bytes()
}

func (l *ledger) bytes() int64 { return l.behind.Load() * (pageSize + 24) }

// wrote counts what the last transaction put into the log.
func (w *writer) wrote() {
	n, err := pagesWritten(w.conn)
	if err != nil {
		n = 1 // it is counted to know when to copy, and a copy tells the truth
	}
	w.log.pages += n
	w.log.behind.Add(int64(n))
}

func pagesWritten(conn *sql.Conn) (n int, err error) {
	err = conn.Raw(func(c any) error {
		status, ok := c.(driver.DBStatus)
		if !ok {
			return errors.New("sqlite: the driver does not count pages")
		}
		n, _, err = status.Status(driver.DBStatusCacheWrite, true)
		return err
	})
	return n, err
}

// keepUp copies the log if that is due. It is called after the answers were given, so that no
// caller waits for it but those of the next batch.
func (w *writer) keepUp() {
	if w.log.pages < w.db.copyPages {
		return
	}
	w.log.pages = 0
	mode := "PASSIVE"
	if behind, long := w.log.behind.Load(), int64(waitFor*w.db.copyPages); behind >= long && behind >= w.log.tried+long {
		w.log.tried = behind
		mode = "RESTART"
	}
	_ = w.copyLog(context.Background(), mode) // it is remembered, and the log has everything
}

// copyLog copies the log to the main file, and ends the work if a flush fails.
func (w *writer) copyLog(ctx context.Context, mode string) error {
	if mode != "PASSIVE" {
		w.patience(ctx, waitReaders)
		defer w.patience(ctx, dbfile.BusyTimeout.Milliseconds())
	}
	var blocked, inLog, copied int64
	err := w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&blocked, &inLog, &copied)
	_, _ = pagesWritten(w.conn) // none of them is the log's
	switch {
	case flushFailed(err):
		err = fmt.Errorf("%w: flushing the copy of the write-ahead log failed, and what it wrote may be lost in silence: %w", engine.ErrDisk, err)
		w.db.marks.tear(w.db.path)
		w.db.end(err)
		return err
	case err == nil && inLog < 0, err != nil && dbfile.Busy(err):
		return nil
	case err != nil:
		err = w.db.failed(fmt.Errorf("copying the write-ahead log: %w", err))
		w.db.stuck(err)
		return err
	}
	w.db.stuck(nil)
	w.log.behind.Store(max(0, inLog-copied))
	if inLog == copied {
		w.log.tried, w.log.counted = 0, false
	}
	return nil
}

func (w *writer) patience(ctx context.Context, ms int64) {
	_, _ = w.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout(%d)", ms))
}

// flushFailed says whether a flush failed while the log was copied, of whichever file.
func flushFailed(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && (e.Code() == codes.SQLITE_IOERR_FSYNC || e.Code() == codes.SQLITE_IOERR_DIR_FSYNC)
}

// stuck remembers that the log cannot be copied; nil: it can.
func (db *DB) stuck(err error) {
	if err != nil && errors.Is(err, engine.ErrNoRoom) {
		err = fmt.Errorf("the write-ahead log grows: %w", err)
	}
	db.troubles.mu.Lock()
	defer db.troubles.mu.Unlock()
	db.troubles.stuck = err
}

// longest refuses to write to a log that has grown too long, after one more try to copy it.
func (w *writer) longest(ctx context.Context) error {
	if w.log.bytes() < w.db.logMost {
		return nil
	}
	if err := w.copyLog(ctx, "RESTART"); err != nil {
		return err
	}
	if w.log.bytes() < w.db.logMost {
		return nil
	}
	return fmt.Errorf("%w: the write-ahead log has grown to %d MB, since something reads it all the time", engine.ErrUnavailable, w.log.bytes()>>20)
}
