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
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
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

	// MaxAttempts limits the deliveries of a message; after them it goes to the dead letters.
	// 20 if zero.
	MaxAttempts int

	// Examine limits the examination of the file before it is used, see [Examine]; zero skips
	// it. A damaged file is refused with a [*DamageError] or, if Damaged is set, served as far
	// as possible.
	Examine time.Duration
	Damaged bool

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

const (
	defaultVisibility  = 90 * time.Second
	defaultMaxAttempts = 20

	readers = 4 // connections for reading
)

// DB is an open file. All methods are safe for concurrent use.
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
	full       atomic.Bool // a write found the disk full, and no [DB.Probe] has succeeded since
	troubles   troubles
	mark       mark.Mark
	made       bool // the file did not exist before, or was empty

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
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	if opts.Clock == nil || opts.Random == nil {
		return nil, fmt.Errorf("sqlite: Open needs Options.Clock and Options.Random")
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
	// a damaged file does not vouch for itself
	db.mark = mark.Mark{Path: db.path, Off: opts.Sync == dbfile.SyncOff || opts.Damaged}
	if db.made, err = makeFile(db.path); err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	err = db.open(ctx)
	if err != nil && dbfile.DiskFull(err, db.inDir()) {
		err = db.noRoom(err)
		if other := db.openReading(ctx); other == nil {
			return db, nil
		} else if errors.Is(other, ErrNewerFile) {
			err = other
		}
	}
	if err != nil {
		if r := dbfile.Reason(err); r != engine.ErrUnavailable {
			err = fmt.Errorf("%w: %w", r, err)
		}
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	return db, nil
}

// makeFile creates a file that only its owner can read, whatever the mode of its directory, because
// arguments and results are stored in plain text. Files that SQLite creates beside it later get the
// same mode. If a database existed and is missing, no new one is created.
func makeFile(path string) (made bool, err error) {
	if err := mark.WholeBefore(path); err != nil {
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

// Made reports whether the file did not exist, or was empty, when it was opened.
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
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	db.reader = reader
	db.reads.prepare = reader.PrepareContext
	db.writer = db.startWriter(pool, conn, are)
	return nil
}

// prepareFile connects and migrates. Several processes may do so at once on a new file. While one
// of them turns the write-ahead log on, SQLite reports busy to the others at once, whatever their
// timeout, so they retry.
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
		db.mark.Torn = false
	}
	if err == nil {
		err = migrate(ctx, conn, db.now())
	}
	if err == nil {
		err = db.mark.Open(ctx, conn, db.random)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// Close runs the operations that the writer has already taken, answers the others with
// [engine.ErrUnavailable], and closes the file. Closing again does nothing.
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

// Arrived is signalled after this process put something into the queue: a new message, a returned
// message, or a dead letter that is sent again. It holds one signal; the receiver then calls
// [DB.Receive] again. Other processes do not signal it.
func (db *DB) Arrived() <-chan struct{} { return db.arrived }

// announce notifies waiters in this process of what was committed.
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
