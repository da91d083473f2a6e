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

// Adopt copies what a process that was killed left in its log, before anything is added to it:
//
//	commit: its flush fails, it is refused ── kill ── the next process finds it whole in the system's memory, and adds
//	a commit after it, whose flush succeeds and does not write the pages before ── loss of power: the log breaks off before it
//
// Once copied, with a flush of the main file, nothing depends on those pages. Until then everything
// does:
//
//	the next process copies part of that commit to the main file ── loss of power: the log breaks off before it,
//	and the main file has part of it: it is malformed
//
// So the log is flushed first, see [renewLog]. Other processes are waited for a little, since they
// may be starting as well; where they are at work the log is theirs, and nothing was recovered.
//
// whole says that all of it was copied.
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

// adoptTime is how long other processes are waited for.
const adoptTime = time.Second

// errBlocked says that other processes are at work on the log.
var errBlocked = errors.New("other processes use the write-ahead log")

// waitOthers tries again for as long as do finds other processes at work, up to [adoptTime]. done
// says that do succeeded.
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

// renewLog writes the log over itself and flushes it. A flush alone would not do: it skips the
// pages that an earlier one failed to write. A loss of power meanwhile changes nothing, since each
// byte is replaced by itself. The transaction keeps other processes from adding to the log. SQLite
// has its locks on the other two files: closing this one releases none.
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
