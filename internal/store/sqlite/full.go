package sqlite

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
func (db *DB) Probe(ctx context.Context) error {
	err := exec(ctx, db, func(t *tx) error {
		if _, err := t.exec("INSERT INTO payloads (tenant, thread, digest, body) VALUES ('', '', 'probe', zeroblob(8192))"); err != nil {
			return err
		}
		if _, err := t.exec("DELETE FROM payloads WHERE tenant = '' AND thread = '' AND digest = 'probe'"); err != nil {
			return err
		}
		_, err := t.exec("DELETE FROM usage WHERE tenant = ''") // no tenant has stored it
		return err
	})
	if err == nil {
		db.full.Store(false)
	}
	return err
}

// noRoom returns the error of a write to a full disk, with the directory and the space that is
// needed.
func (db *DB) noRoom(cause error) error {
	db.full.Store(true)
	return fmt.Errorf("%w: free at least %d MB on the disk that holds %s: %w", engine.ErrNoRoom, LeastRoom>>20, db.inDir(), cause)
}

// openReading opens a file whose disk has no space for the write-ahead log and its index, which
// several connections share: a single connection with exclusive access keeps the index in memory.
// Committed data can be read, and nothing can be written.
func (db *DB) openReading(ctx context.Context) error {
	pool, err := sql.Open("sqlite", dbfile.DataSource(db.path, url.Values{"_pragma": append(dbfile.ReadPragmas(), "locking_mode(exclusive)", "query_only(1)")}))
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(1)
	var version int
	err = pool.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM migrations").Scan(&version)
	switch {
	case err == nil && version > len(migrations):
		err = fmt.Errorf("%w: its schema is %d, this program knows %d", ErrNewerFile, version, len(migrations))
	case err == nil && version < len(migrations):
		err = fmt.Errorf("its schema is %d and cannot be brought to %d", version, len(migrations))
	}
	if err != nil {
		return errors.Join(err, pool.Close())
	}
	db.reader = pool
	db.reads.prepare = pool.PrepareContext
	return nil
}

// writing returns the writer. If the file is open read-only, it first tries to open it for writing.
func (db *DB) writing(ctx context.Context) (*writer, error) {
	db.mu.RLock()
	w := db.writer
	db.mu.RUnlock()
	if w != nil {
		return w, nil
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	switch {
	case db.writer != nil:
		return db.writer, nil
	case db.over:
		return nil, errClosed
	}
	now := db.clock.Now()
	if now.Before(db.reopen) {
		return nil, db.noRoom(syscall.ENOSPC)
	}
	db.reopen = now.Add(reopenEvery)
	if db.reader != nil {
		db.reads.close()
		_ = db.reader.Close() // it was only used for reading
		db.reader = nil
	}
	db.examine = min(db.examine, time.Second) // readers wait meanwhile
	err := db.open(ctx)
	if err == nil {
		return db.writer, nil
	}
	return nil, errors.Join(db.failed(err), db.openReading(ctx))
}
