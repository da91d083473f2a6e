package txfile

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	_ "modernc.org/sqlite"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
)

// Options configure a [File]. Clock, Random and Schema are required.
type Options struct {
	Clock  engine.Clock
	Random engine.Random
	Sync   dbfile.Sync

	// Schema are the migrations. They are applied in order and never change once released. The
	// number of a migration is its index, counted from 1. The first makes the table of package
	// mark.
	Schema []string

	// Check examines an existing file before it is used, for at most the limit CheckTime; zero
	// skips it. If it returns an error that wraps [engine.ErrDamaged] and Damaged is set, the
	// file is served as far as possible.
	Check     func(ctx context.Context, path string, limit time.Duration) error
	CheckTime time.Duration
	Damaged   bool

	// CopyPages is how many pages are written to the log before it is copied to the main file;
	// 1000 if zero.
	CopyPages int

	// LogMost limits the write-ahead log, in bytes; 1 GiB if zero.
	LogMost int64

	// NoRoom, for tests, reports whether the disk is full: nothing can be written and no file
	// can be created.
	NoRoom func() bool

	watch engine.Clock // the clock for detecting a hanging disk; the machine's if nil
}

const readers = 4 // connections for reading

// File is an open file. It is safe for concurrent use.
type File struct {
	opts     Options
	path     string
	full     atomic.Bool // a write found the disk full, and no [Probe] has succeeded since
	troubles troubles
	mark     mark.Mark
	made     bool // the file did not exist before, or was empty

	handles

	reads    statements
	stamps   stamps
	watchers watchers

	closing sync.Once
	closed  error
}

// handles are the connections of the open file.
type handles struct {
	// mu guards the fields that are replaced when a file that was open read-only is opened for
	// writing
	mu     sync.RWMutex
	writer *writer   // nil while the disk is too full to open it
	reader *sql.DB   // nil if the file could not even be opened for reading
	reopen time.Time // when to try to open the file for writing again
	over   bool      // closed
}

// Open opens the file at path, creates it if it does not exist, and migrates its schema. A file
// that a newer version of the program wrote is refused with [ErrNewerFile] and not touched.
func Open(ctx context.Context, path string, opts Options) (_ *File, err error) {
	f := &File{opts: opts}
	f.opts.CopyPages, f.opts.LogMost = cmp.Or(f.opts.CopyPages, copyPages), cmp.Or(f.opts.LogMost, logMost)
	if f.opts.watch == nil {
		f.opts.watch = stopwatch{}
	}
	f.troubles.ended = make(chan struct{})
	if f.path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(f.path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		// SQLite puts the log beside the file that the link leads to.
		if f.path, err = filepath.EvalSymlinks(f.path); err != nil {
			return nil, err
		}
	}
	// a damaged file does not vouch for itself
	f.mark = mark.Mark{Path: f.path, Off: opts.Sync == dbfile.SyncOff || opts.Damaged}
	if f.made, err = makeFile(f.path, opts.Sync); err != nil {
		return nil, err
	}
	err = f.open(ctx)
	if err != nil && dbfile.DiskFull(err, f.inDir()) {
		err = f.noRoom(err)
		if other := f.openReading(ctx); other == nil {
			return f, nil
		} else if errors.Is(other, ErrNewerFile) {
			err = other
		}
	}
	if err != nil {
		if r := dbfile.Reason(err); r != engine.ErrUnavailable {
			err = fmt.Errorf("%w: %w", r, err)
		}
		return nil, err
	}
	return f, nil
}

// Made reports whether the file did not exist, or was empty, when it was opened.
func (f *File) Made() bool { return f.made }

func (f *File) open(ctx context.Context) error {
	if f.opts.NoRoom != nil && f.opts.NoRoom() {
		return syscall.ENOSPC
	}
	path := f.path
	if err := f.check(ctx); err != nil {
		return err
	}
	if err := f.alone(); err != nil {
		return err
	}
	pool, err := sql.Open("sqlite", dbfile.DataSource(path, url.Values{"_pragma": dbfile.WritePragmas(f.opts.Sync)}))
	if err != nil {
		return err
	}
	conn, err := f.prepareFile(ctx, pool)
	if err != nil {
		pool.Close()
		return err
	}
	are, err := dbfile.Identify(path)
	if err != nil {
		conn.Close()
		pool.Close()
		return err
	}
	reader, err := sql.Open("sqlite", dbfile.DataSource(path, url.Values{"mode": {"ro"}, "_pragma": dbfile.ReadPragmas()}))
	if err != nil {
		conn.Close()
		pool.Close()
		return err
	}
	reader.SetMaxOpenConns(readers + 1) // one is kept for [File.Stamp]
	reader.SetMaxIdleConns(readers)
	f.reader = reader
	f.reads.prepare = reader.PrepareContext
	f.writer = f.startWriter(pool, conn, are)
	return nil
}

// check runs [Options.Check] on a file that existed before.
func (f *File) check(ctx context.Context) error {
	if f.opts.CheckTime == 0 || f.made {
		return nil
	}
	err := f.opts.Check(ctx, f.path, f.opts.CheckTime)
	if f.opts.Damaged && errors.Is(err, engine.ErrDamaged) {
		_ = f.note(err)
		f.troubles.lasts = true // no one else uses the file yet
		return nil
	}
	return err
}

// alone refuses a file that a failed flush has left behind while another process has it open. The
// pages that were copied before, according to the index of the log, may be lost, and while any
// process has the index open no start copies them again:
//
//	a reader opens the file ── part of the log is copied ── the flush fails, the server ends
//	── it starts again, and copies only the rest
func (f *File) alone() error {
	marked, there := mark.Read(f.path)
	if !there || !marked.Torn {
		return nil
	}
	if dbfile.Shared(f.path) {
		return fmt.Errorf("%w: a flush of the database failed, and another program (a backup, sqlite3 or another server) has kept it open since; end that program and start again", engine.ErrDisk)
	}
	f.mark.Torn = true
	return nil
}

// prepareFile connects and migrates. Several processes may do so at once on a new file. While one
// of them turns the write-ahead log on, SQLite reports busy to the others at once, whatever their
// timeout, so they retry; and on a slow disk one of them holds the file for longer than a statement
// waits.
func (f *File) prepareFile(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	for end := time.Now().Add(4 * dbfile.BusyTimeout); ; {
		conn, err := f.connect(ctx, pool)
		if err == nil || !dbfile.Busy(err) || time.Now().After(end) {
			return conn, err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *File) connect(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	whole, err := dbfile.Adopt(ctx, conn, f.path, f.opts.Sync)
	if whole {
		f.mark.Torn = false
	}
	if err == nil {
		err = migrate(ctx, conn, f.opts.Schema, f.opts.Clock.Now().UnixMilli())
	}
	if err == nil {
		err = f.mark.Open(ctx, conn, f.opts.Random)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// Close runs the operations that the writer has already taken, answers the others with
// [engine.ErrUnavailable], and closes the file. Closing again does nothing.
func (f *File) Close() error {
	f.closing.Do(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.over = true
		f.reads.close()
		f.stamps.close()
		if f.reader != nil {
			f.closed = f.reader.Close()
		}
		if f.writer != nil {
			f.closed = errors.Join(f.writer.close(), f.closed)
		}
	})
	return f.closed
}

// Queries returns the statements that were prepared so far.
func (f *File) Queries() []string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	queries := f.reads.texts()
	if f.writer != nil {
		queries = append(queries, f.writer.stmts.texts()...)
	}
	return queries
}
