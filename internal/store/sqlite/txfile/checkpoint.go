package txfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	driver "modernc.org/sqlite"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// By default SQLite copies its write-ahead log to the main file by itself and does not report the
// result. This package does it explicitly, for two reasons. First, a failed flush:
//
//	copy: flush of the main file fails ── next copy: flush succeeds
//	── the log is reused ── power loss
//
// The second flush does not write the pages again whose writing failed in the first, because the
// system counts them as written. A power loss then loses them, and the log no longer contains them.
// So after a failed flush nothing more is copied and the process ends: the next one finds a
// complete log and copies all of it again, see [File.alone]. Second, a copy that always fails, for
// example on a full disk, lets the log grow without a limit.

// Limits of the log.
const (
	pageSize  = 4096    // plus 24 bytes before each page in the log
	copyPages = 1000    // written since the last copy: triggers the next copy
	waitFor   = 4       // times as many not yet copied: the copy waits for readers
	logMost   = 1 << 30 // bytes of a log that cannot be copied: writes are refused
)

// waitReaders limits how long a copy makes the writer wait for readers, in ms.
const waitReaders = 250

// ledger is the state of the log. Only the writer changes it.
type ledger struct {
	pages   int          // written since the last attempt to copy
	counted bool         // a transaction in the log counts it, see package mark
	behind  atomic.Int64 // pages that are in the log but not in the main file
	tried   int64        // behind, when the copy last waited for readers
}

// LogBytes returns how many committed bytes are not in the main file yet.
func (f *File) LogBytes() int64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.writer == nil {
		return 0
	}
	return f.writer.log.bytes()
}

func (l *ledger) bytes() int64 { return l.behind.Load() * (pageSize + 24) }

// wrote counts what the last transaction added to the log.
func (w *writer) wrote() {
	n, err := pagesWritten(w.conn)
	if err != nil {
		n = 1 // an estimate that triggers the next copy, which returns the exact number
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

// keepUp copies the log if that is due. It runs after the answers are given, so that only the
// callers of the next batch wait for it.
func (w *writer) keepUp() {
	if w.log.pages < w.file.opts.CopyPages {
		return
	}
	w.log.pages = 0
	mode := "PASSIVE"
	if behind, long := w.log.behind.Load(), int64(waitFor*w.file.opts.CopyPages); behind >= long && behind >= w.log.tried+long {
		w.log.tried = behind
		mode = "RESTART"
	}
	// the error is recorded, and the log has everything
	_ = w.copyLog(context.Background(), mode)
}

// copyLog copies the log to the main file. If a flush fails, it ends the process.
func (w *writer) copyLog(ctx context.Context, mode string) error {
	if mode != "PASSIVE" {
		w.patience(ctx, waitReaders)
		defer w.patience(ctx, dbfile.BusyTimeout.Milliseconds())
	}
	var blocked, inLog, copied int64
	err := w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&blocked, &inLog, &copied)
	_, _ = pagesWritten(w.conn) // discard pages that the copy wrote to the main file
	switch {
	case dbfile.FlushFailed(err):
		err = fmt.Errorf("%w: flushing the copy of the write-ahead log failed, and what it wrote may be lost silently: %w", engine.ErrDisk, err)
		w.file.mark.Tear()
		w.file.end(err)
		return err
	case err == nil && inLog < 0, err != nil && dbfile.Busy(err):
		return nil
	case err != nil:
		err = w.file.failed(fmt.Errorf("copying the write-ahead log: %w", err))
		w.file.stuck(err)
		return err
	}
	w.file.stuck(nil)
	w.log.behind.Store(max(0, inLog-copied))
	if inLog == copied {
		w.log.tried, w.log.counted = 0, false
	}
	return nil
}

func (w *writer) patience(ctx context.Context, ms int64) {
	_, _ = w.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout(%d)", ms))
}

// stuck records that the log cannot be copied, or, with nil, that it can.
func (f *File) stuck(err error) {
	if err != nil && errors.Is(err, engine.ErrNoRoom) {
		err = fmt.Errorf("the write-ahead log grows: %w", err)
	}
	f.troubles.mu.Lock()
	defer f.troubles.mu.Unlock()
	f.troubles.stuck = err
}

// longest refuses writes if the log is too long, after one more attempt to copy it.
func (w *writer) longest(ctx context.Context) error {
	if w.log.bytes() < w.file.opts.LogMost {
		return nil
	}
	if err := w.copyLog(ctx, "RESTART"); err != nil {
		return err
	}
	if w.log.bytes() < w.file.opts.LogMost {
		return nil
	}
	return fmt.Errorf("%w: the write-ahead log has grown to %d MB, because other processes read it all the time", engine.ErrUnavailable, w.log.bytes()>>20)
}
