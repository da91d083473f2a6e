package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// Trouble is what is wrong with a file. Of several things it is the worst.
type Trouble int

const (
	NoTrouble Trouble = iota
	Full              // a write found no room, and no [DB.Probe] has succeeded since
	// the disk has answered with an error within [calm] or does not answer, or the log cannot
	// be copied
	Failing
	// something that is stored is damaged; until [DB.Recheck] finds that it is not
	Damaged
	Gone // the file was moved, removed or replaced: see [DB.Ended]
)

// calm is how long a disk has to answer without an error before it counts as working again.
const calm = 30 * time.Second

// troubles is what has gone wrong with one file.
type troubles struct {
	mu      sync.Mutex
	failed  time.Time // when the disk failed last; zero: never
	failure error
	damage  error     // the first
	lasts   bool      // it was found at the start, and is served nevertheless
	busy    time.Time // when the writer began the batch that it is at; zero: it rests
	stuck   error     // why the log cannot be copied; nil: it can
	end     error     // why nothing may be written any more
	ended   chan struct{}
}

// Trouble says what is wrong with the file now, and the error that showed it.
func (db *DB) Trouble() (Trouble, error) {
	now := db.clock.Now()
	t := &db.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case errors.Is(t.end, engine.ErrGone):
		return Gone, t.end
	case t.damage != nil:
		return Damaged, t.damage
	case t.end != nil:
		return Failing, t.end
	case db.full.Load():
		return Full, nil
	case t.stuck != nil:
		return Failing, t.stuck
	case !t.busy.IsZero() && db.watch.Now().Sub(t.busy) > hangsAfter:
		return Failing, fmt.Errorf("%w: a write has not ended for %s", engine.ErrDisk, db.watch.Now().Sub(t.busy).Round(time.Second))
	case !t.failed.IsZero() && now.Sub(t.failed) < calm:
		return Failing, t.failure
	}
	return NoTrouble, nil
}

// Ended is closed once the process has to end, because going on could lose what was acknowledged;
// [DB.WhyEnded] says why. From then on every write is refused. The file is left as after a kill:
// the next start reads what was committed from the log.
func (db *DB) Ended() <-chan struct{} { return db.troubles.ended }

// WhyEnded is why the process has to end; nil if it need not. It wraps [engine.ErrGone] or
// [engine.ErrDisk].
func (db *DB) WhyEnded() error { return db.troubles.over() }

// end makes every later write fail with err.
func (db *DB) end(err error) {
	t := &db.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end == nil {
		t.end = err
		close(t.ended)
	}
}

// over is why the process has to end; nil if it need not.
func (t *troubles) over() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end
}

// work notes when the writer began a batch; zero: it has ended.
func (t *troubles) work(since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = since
}

// Recheck looks whether what was found damaged is: SQLite calls what a read that failed once has
// left in memory malformed, too. It takes what time ctx gives it; damage that was found at the
// start stays, and so does what there was no time to look at.
func (db *DB) Recheck(ctx context.Context) error {
	t := &db.troubles
	t.mu.Lock()
	found, lasts := t.damage, t.lasts
	t.mu.Unlock()
	if found == nil || lasts {
		return found
	}
	// A connection of its own: it has read nothing yet.
	pool, err := sql.Open("sqlite", dbfile.DataSource(db.path, url.Values{"mode": {"ro"}, "_pragma": dbfile.ReadPragmas()}))
	if err != nil {
		return err
	}
	defer pool.Close()
	var line string
	if err := pool.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&line); err != nil || line != "ok" {
		return errors.Join(found, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.damage = nil
	return nil
}

// note remembers what an error says of the file, and returns it.
func (db *DB) note(err error) error {
	t := &db.troubles
	switch {
	case errors.Is(err, engine.ErrDamaged):
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.damage == nil {
			t.damage = err
		}
	case errors.Is(err, engine.ErrDisk):
		now := db.clock.Now()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.failed, t.failure = now, err
	}
	return err
}

// failed names a failed transaction or opening, and remembers it.
func (db *DB) failed(err error) error {
	if db.isFull(err) {
		return db.noRoom(err)
	}
	return db.note(unavailable(err))
}

// unavailable translates what SQLite or the context says.
func unavailable(err error) error {
	if errors.Is(err, engine.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", reason(err), err)
}

// reason is what an error of SQLite means.
func reason(err error) error {
	e, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return engine.ErrUnavailable
	}
	switch {
	case e.Code() == codes.SQLITE_READONLY_DBMOVED:
		return engine.ErrGone
	case e.Code() == codes.SQLITE_IOERR_CORRUPTFS:
		return engine.ErrDamaged
	}
	switch e.Code() & 0xff {
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return engine.ErrDamaged
	case codes.SQLITE_IOERR, codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY:
		return engine.ErrDisk
	}
	return engine.ErrUnavailable
}

// inDir is the file's directory, for what is said to operators.
func (db *DB) inDir() string { return filepath.Dir(db.path) }
