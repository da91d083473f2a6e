package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"
)

// Adopt copies the log that a killed process left behind, before anything is added to it:
//
//	commit: its flush fails, it is refused ── kill ── the next process finds it complete
//	in the system's memory and adds a commit, whose flush succeeds and does not write the
//	pages before it ── power loss: the log breaks off before that commit
//
// Once the log is copied and the main file flushed, nothing depends on those pages. Until then
// everything does:
//
//	the next process copies part of that commit to the main file ── power loss: the log
//	breaks off before the commit, and the main file has part of it: it is malformed
//
// So the log is flushed first, see [renewLog]. Adopt waits briefly for other processes, which may
// be starting as well. If they are working, the log is theirs, and nothing had to be recovered.
//
// whole reports that all of it was copied.
func Adopt(ctx context.Context, conn *sql.Conn, path string, sync Sync) (whole bool, err error) {
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout(0)"); err != nil {
		return false, err
	}
	whole = true
	if sync != SyncOff {
		whole, err = waitOthers(ctx, func() error { return renewLog(ctx, conn, path) })
	}
	if err == nil && whole {
		whole, err = waitOthers(ctx, func() error { return truncateLog(ctx, conn) })
	}
	if err != nil {
		err = fmt.Errorf("copying the write-ahead log that was left behind: %w", err)
	}
	if _, restore := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout(%d)", BusyTimeout.Milliseconds())); err == nil {
		err = restore
	}
	return whole, err
}

// adoptTime limits the wait for other processes.
const adoptTime = time.Second

// errBlocked reports that other processes are using the log.
var errBlocked = errors.New("other processes use the write-ahead log")

// waitOthers retries while do finds other processes at work, up to [adoptTime]. done reports that
// do succeeded.
func waitOthers(ctx context.Context, do func() error) (done bool, err error) {
	for end := time.Now().Add(adoptTime); ; {
		err := do()
		if err == nil {
			return true, nil
		}
		if !Busy(err) && !errors.Is(err, errBlocked) {
			return false, err
		}
		if time.Now().After(end) {
			return false, nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// renewLog overwrites the log with itself and flushes it. A flush alone is not enough, because it
// skips the pages that an earlier flush failed to write. A power loss meanwhile changes nothing,
// because each byte is replaced by itself. The transaction prevents other processes from adding to
// the log. SQLite holds its locks on the other two files, so closing this one releases none.
func renewLog(ctx context.Context, conn *sql.Conn, path string) (err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		_, over := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		err = errors.Join(err, over)
	}()
	f, err := os.OpenFile(path+"-wal", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.Copy(io.NewOffsetWriter(f, 0), io.NewSectionReader(f, 0, math.MaxInt64))
	if err != nil || n == 0 {
		return err
	}
	return f.Sync()
}

func truncateLog(ctx context.Context, conn *sql.Conn) error {
	var blocked, inLog, copied int64
	err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&blocked, &inLog, &copied)
	if err == nil && blocked != 0 {
		err = errBlocked
	}
	return err
}
