package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// adopt copies what a process that was killed left in its log, before anything is added to it:
//
//	commit: its flush fails, it is refused ── kill ── the next process finds it whole in the system's memory, and adds
//	a commit after it, whose flush succeeds and does not write the pages before ── loss of power: the log breaks off before it
//
// Once copied, with a flush of the main file, nothing depends on those pages. While they are copied, much does:
//
//	the next process copies part of that commit to the main file ── loss of power: the log breaks off before it
//	── the file is a mixture of two states, and malformed
//
// So the log is written again first, over itself, and flushed. Other processes are waited for a little, since they may be starting as well;
// where they are at work the log is theirs, and nothing was recovered.
//
// whole says that all of it was copied.
func adopt(ctx context.Context, conn *sql.Conn, path string, sync Sync) (whole bool, err error) {
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
	if _, restore := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout(%d)", busyTimeout.Milliseconds())); err == nil {
		err = restore
	}
	return whole, err
}

// adoptTime is how long other processes are waited for.
const adoptTime = time.Second

// errBlocked says that other processes are at work on the log.
var errBlocked = errors.New("other processes use the write-ahead log")

// waitOthers does what other processes can keep from being done, and says whether it was done in time.
func waitOthers(ctx context.Context, do func() error) (done bool, err error) {
	for end := time.Now().Add(adoptTime); ; {
		err := do()
		if err == nil {
			return true, nil
		}
		if !busy(err) && !errors.Is(err, errBlocked) {
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

// renewLog writes over the log what is in it, so that its flush covers every page, also those that an earlier flush has lost. A loss of power
// meanwhile changes nothing: each byte is replaced by itself. The lock keeps other processes from adding to the log, and the log is not one
// of the files on which SQLite's own locks are, which closing it here would release.
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
	piece := make([]byte, 64<<10)
	for at := int64(0); ; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := f.ReadAt(piece, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 && at == 0 {
			return nil
		}
		if n == 0 {
			return f.Sync()
		}
		if _, err := f.WriteAt(piece[:n], at); err != nil {
			return err
		}
		at += int64(n)
	}
}

func truncateLog(ctx context.Context, conn *sql.Conn) error {
	var blocked, inLog, copied int64
	err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&blocked, &inLog, &copied)
	if err == nil && blocked != 0 {
		err = errBlocked
	}
	return err
}
