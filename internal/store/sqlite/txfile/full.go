package txfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// LeastRoom is how much free space, in bytes, is needed before a file is written again after its
// disk was full: for the write-ahead log up to its first checkpoint, the index of the log, and what
// a few runs add meanwhile.
const LeastRoom = 16 << 20

// reopenEvery is how often the program tries to open a read-only file for writing.
const reopenEvery = time.Second

// Probe tries a write that leaves nothing behind, to find out whether the disk still is full.
func Probe(ctx context.Context, f *File, write func(*Tx) error) error {
	_, err := Write(ctx, f, func(t *Tx) (struct{}, error) { return struct{}{}, write(t) })
	if err == nil {
		f.full.Store(false)
	}
	return err
}

// noRoom returns the error of a write to a full disk, with the directory and the space that is
// needed.
func (f *File) noRoom(cause error) error {
	f.full.Store(true)
	return fmt.Errorf("%w: free at least %d MB on the disk that holds %s: %w", engine.ErrNoRoom, LeastRoom>>20, f.inDir(), cause)
}

// openReading opens a file whose disk has no space for the write-ahead log and its index, which
// several connections share: a single connection with exclusive access keeps the index in memory.
// Committed data can be read, and nothing can be written.
func (f *File) openReading(ctx context.Context) error {
	pool, err := sql.Open("sqlite", dbfile.DataSource(f.path, url.Values{"_pragma": append(dbfile.ReadPragmas(), "locking_mode(exclusive)", "query_only(1)")}))
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(1)
	var version int
	err = pool.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM migrations").Scan(&version)
	switch {
	case err == nil && version > len(f.opts.Schema):
		err = fmt.Errorf("%w: its schema is %d, this program knows %d", ErrNewerFile, version, len(f.opts.Schema))
	case err == nil && version < len(f.opts.Schema):
		err = fmt.Errorf("its schema is %d and cannot be brought to %d", version, len(f.opts.Schema))
	}
	if err != nil {
		return errors.Join(err, pool.Close())
	}
	f.reader = pool
	f.reads.prepare = pool.PrepareContext
	return nil
}

// writing returns the writer. If the file is open read-only, it first tries to open it for writing.
func (f *File) writing(ctx context.Context) (*writer, error) {
	f.mu.RLock()
	w := f.writer
	f.mu.RUnlock()
	if w != nil {
		return w, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.writer != nil:
		return f.writer, nil
	case f.over:
		return nil, errClosed
	}
	now := f.opts.Clock.Now()
	if now.Before(f.reopen) {
		return nil, f.noRoom(syscall.ENOSPC)
	}
	f.reopen = now.Add(reopenEvery)
	if f.reader != nil {
		f.reads.close()
		_ = f.reader.Close() // it was only used for reading
		f.reader = nil
	}
	f.opts.CheckTime = min(f.opts.CheckTime, time.Second) // readers wait meanwhile
	err := f.open(ctx)
	if err == nil {
		return f.writer, nil
	}
	return nil, errors.Join(f.failed(err), f.openReading(ctx))
}
