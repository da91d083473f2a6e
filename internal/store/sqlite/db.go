package sqlite

import (
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
)

var (
	_ engine.Store    = (*DB)(nil)
	_ engine.Overdue  = (*DB)(nil)
	_ engine.Waker    = (*DB)(nil)
	_ engine.Receiver = (*DB)(nil)
)

// Options configure a [DB]. Clock and Random are required.
type Options struct {
	Clock  engine.Clock
	Random engine.Random
	Sync   dbfile.Sync

	// Visibility is how long a delivery is hidden from others; 90 seconds if zero.
	Visibility time.Duration

	// MaxAttempts is how often a message is handed over before it goes to the dead letters; 20
	// if zero.
	MaxAttempts int

	// Examine is how long the file is examined before it is used, see [Examine]; zero: not at
	// all. One in which something is wrong is refused with a [*DamageError], or, if Damaged
	// says so, served as far as it can be.
	Examine time.Duration
	Damaged bool

	// CopyPages is how many pages are written to the log before it is copied to the main file;
	// 1000 if zero.
	CopyPages int

	// LogMost bounds the write-ahead log, in bytes; 1 GiB if zero.
	LogMost int64

	// NoRoom, for tests, says whether the disk is full: then nothing can be written and no file
	// can be made.
	NoRoom func() bool

	watch engine.Clock // the one by which a disk hangs; the machine's if nil
}

const (
	defaultVisibility  = 90 * time.Second
	defaultMaxAttempts = 20

	readers = 4 // connections for reading
)

// DB is one open file. All methods are safe for concurrent use.
type DB struct {
	clock       engine.Clock
	random      engine.Random
	visibility  time.Duration
	maxAttempts int

	path       string
	sync       dbfile.Sync
	watch      engine.Clock
	noRoomTest func() bool
	logMost    int64
	copyPages  int
	full       atomic.Bool // a write found no room, and no [DB.Probe] has succeeded since
	troubles   troubles
	marks      marks
	made       bool // the file was not there before, or empty

	examine     time.Duration
	evenDamaged bool

	handles

	reads   statements
	arrived chan struct{}

	watchers watchers
	turns    turns

	closing sync.Once
	closed  error
}

// handles are the open file.
type handles struct {
	// guards what is replaced when a file that was open for reading alone is opened for writing
	mu     sync.RWMutex
	writer *writer   // nil while there is no room for it
	reader *sql.DB   // nil if the file could not even be opened for reading
	reopen time.Time // when to try to open the file for writing again
	over   bool      // closed
}

// Open opens the file at path, creating it if it is not there, and brings its schema up to date. A
// file written by a newer program is refused with [ErrNewerFile] and not touched.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	if opts.Clock == nil || opts.Random == nil {
		return nil, fmt.Errorf("sqlite: open needs a clock and a source of randomness")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	db := &DB{clock: opts.Clock, random: opts.Random, arrived: make(chan struct{}, 1),
		visibility: opts.Visibility, maxAttempts: opts.MaxAttempts,
		path: abs, sync: opts.Sync, logMost: opts.LogMost, copyPages: opts.CopyPages, examine: opts.Examine, evenDamaged: opts.Damaged, watch: opts.watch, noRoomTest: opts.NoRoom}
	if db.watch == nil {
		db.watch = stopwatch{}
	}
	db.troubles.ended = make(chan struct{})
	// what is damaged does not vouch for itself
	db.marks.off = opts.Sync == dbfile.SyncOff || opts.Damaged
	if db.copyPages == 0 {
		db.copyPages = copyPages
	}
	if db.logMost == 0 {
		db.logMost = logMost
	}
	if db.visibility == 0 {
		db.visibility = defaultVisibility
	}
	if db.maxAttempts == 0 {
		db.maxAttempts = defaultMaxAttempts
	}
	if info, err := os.Lstat(abs); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		// SQLite puts the log beside the file that the link leads to.
		if db.path, err = filepath.EvalSymlinks(abs); err != nil {
			return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
		}
	}
	if db.made, err = makeFile(db.path); err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	err = db.open(ctx)
	if err != nil && db.isFull(err) {
		err = db.noRoom(err)
		if other := db.openReading(ctx); other == nil {
			return db, nil
		} else if errors.Is(other, ErrNewerFile) {
			err = other
		}
	}
	if err != nil {
		if r := reason(err); r != engine.ErrUnavailable {
			err = fmt.Errorf("%w: %w", r, err)
		}
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	return db, nil
}

// makeFile makes a file that nobody but its owner can read, whatever may be read in its directory:
// arguments and results are in it in plain text. What stands beside it later takes its mode. A
// database that was there and is missing is not made anew.
func makeFile(path string) (made bool, err error) {
	if err := wholeBefore(path); err != nil {
		return false, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		info, err := os.Stat(path)
		return err == nil && info.Size() == 0, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// Made says whether the file was not there, or empty, when it was opened.
func (db *DB) Made() bool { return db.made }

func (db *DB) open(ctx context.Context) error {
	if db.noRoomTest != nil && db.noRoomTest() {
		return syscall.ENOSPC
	}
	path := db.path
	if err := db.checkStart(ctx); err != nil {
		return err
	}
	if err := db.alone(); err != nil {
		return err
	}
	pool, err := sql.Open("sqlite", dbfile.DataSource(path, url.Values{"_pragma": dbfile.WritePragmas(db.sync)}))
	if err != nil {
		return err
	}
	conn, err := db.prepareFile(ctx, pool)
	if err != nil {
		pool.Close()
		return err
	}
	are, err := openFiles(path)
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
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	db.reader = reader
	db.reads.prepare = reader.PrepareContext
	db.writer = db.startWriter(pool, conn, are)
	return nil
}

// prepareFile connects and migrates. Several processes may do so at once on a file that is not
// there yet, and while one turns the write-ahead log on SQLite tells the others that it is busy
// without waiting, whatever its timeout is; they try again.
func (db *DB) prepareFile(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	for end := time.Now().Add(dbfile.BusyTimeout); ; {
		conn, err := db.connect(ctx, pool)
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

func (db *DB) connect(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	whole, err := dbfile.Adopt(ctx, conn, db.path, db.sync)
	if whole {
		db.marks.torn = false
	}
	if err == nil {
		err = migrate(ctx, conn, db.now())
	}
	if err == nil && !db.marks.off {
		err = db.marks.open(ctx, db.path, conn, db.random)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// Close runs what the writer already took, answers what still waits with [engine.ErrUnavailable],
// and closes the file. Closing again does nothing.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		db.over = true
		db.reads.close()
		if db.reader != nil {
			db.closed = db.reader.Close()
		}
		if db.writer != nil {
			db.closed = errors.Join(db.writer.close(), db.closed)
		}
	})
	return db.closed
}

// Arrived is signalled after this process put something into the queue: a new message, one given
// back, a dead letter sent again. It holds one signal; the receiver of it calls [DB.Receive] again.
// What other processes put in is not signalled.
func (db *DB) Arrived() <-chan struct{} { return db.arrived }

// announce tells those who wait in this process what was committed.
func (db *DB) announce(n news) {
	db.watchers.tell(n.changed)
	if !n.arrived {
		return
	}
	select {
	case db.arrived <- struct{}{}:
	default:
	}
}

func (db *DB) now() int64 { return db.clock.Now().UnixMilli() }
