package txfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// Trouble says what is wrong with a file. Of several problems it is the worst.
type Trouble int

const (
	NoTrouble Trouble = iota
	Full              // a write found the disk full, and no [File.Probe] has succeeded since
	// Failing: the disk has returned an error within [calm] or does not respond, or the log
	// cannot be copied
	Failing
	// Damaged: stored data are damaged, until [File.Recheck] finds that they are not
	Damaged
	Gone // the file was moved, removed or replaced: see [File.Ended]
)

// calm is how long a disk must work without an error before it counts as healthy again.
const calm = 30 * time.Second

// troubles records the problems of one file.
type troubles struct {
	mu      sync.Mutex
	failed  time.Time // time of the disk's last failure; zero: never
	failure error
	damage  error     // the first damage
	lasts   bool      // it was found at the start, and the file is served anyway
	busy    time.Time // when the writer began its current batch; zero: it is idle
	stuck   error     // why the log cannot be copied; nil if it can
	end     error     // why no more writes are possible
	ended   chan struct{}
}

// Trouble returns the current problem of the file and the error that revealed it.
func (f *File) Trouble() (Trouble, error) {
	now := f.opts.Clock.Now()
	t := &f.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case errors.Is(t.end, engine.ErrGone):
		return Gone, t.end
	case t.damage != nil:
		return Damaged, t.damage
	case t.end != nil:
		return Failing, t.end
	case f.full.Load():
		return Full, nil
	case t.stuck != nil:
		return Failing, t.stuck
	case !t.busy.IsZero() && f.opts.watch.Now().Sub(t.busy) > hangsAfter:
		return Failing, fmt.Errorf("%w: a write has not finished for %s", engine.ErrDisk, f.opts.watch.Now().Sub(t.busy).Round(time.Second))
	case !t.failed.IsZero() && now.Sub(t.failed) < calm:
		return Failing, t.failure
	}
	return NoTrouble, nil
}

// Ended is closed once the process has to end, because continuing could lose acknowledged data;
// [File.WhyEnded] returns the reason. From then on every write is refused. The file is left as
// after a kill: the next start reads the committed data from the log.
func (f *File) Ended() <-chan struct{} { return f.troubles.ended }

// WhyEnded returns why the process has to end, or nil. The error wraps [engine.ErrGone] or
// [engine.ErrDisk].
func (f *File) WhyEnded() error { return f.troubles.over() }

// end makes every later write fail with err.
func (f *File) end(err error) {
	t := &f.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end == nil {
		t.end = err
		close(t.ended)
	}
}

// over returns why the process has to end, or nil.
func (t *troubles) over() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end
}

// work records when the writer began a batch; zero means that it has ended.
func (t *troubles) work(since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = since
}

// Recheck checks again whether reported damage is real: SQLite also reports pages as malformed that
// a failed read left in memory. It takes as long as ctx allows. Damage that was found at the start
// stays, and so does damage that there was no time to check.
func (f *File) Recheck(ctx context.Context) error {
	t := &f.troubles
	t.mu.Lock()
	found, lasts := t.damage, t.lasts
	t.mu.Unlock()
	if found == nil || lasts {
		return found
	}
	// A new connection, which has nothing cached.
	pool, err := sql.Open("sqlite", dbfile.DataSource(f.path, url.Values{"mode": {"ro"}, "_pragma": dbfile.ReadPragmas()}))
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

// note records what an error says about the file, and returns the error.
func (f *File) note(err error) error {
	t := &f.troubles
	switch {
	case errors.Is(err, engine.ErrDamaged):
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.damage == nil {
			t.damage = err
		}
	case errors.Is(err, engine.ErrDisk):
		now := f.opts.Clock.Now()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.failed, t.failure = now, err
	}
	return err
}

// failed wraps the error of a failed transaction or opening, and records it.
func (f *File) failed(err error) error {
	if dbfile.DiskFull(err, f.inDir()) {
		return f.noRoom(err)
	}
	return f.note(dbfile.Unavailable(err))
}

// inDir is the file's directory, for messages to operators.
func (f *File) inDir() string { return filepath.Dir(f.path) }
