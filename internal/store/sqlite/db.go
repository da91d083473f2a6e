package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/examine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
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

	// Examine limits the examination of the file before it is used, see [examine.Check]; zero
	// skips it. A damaged file is refused with a [*examine.DamageError] or, if Damaged is set,
	// served as far as possible.
	Examine time.Duration
	Damaged bool

	// CopyPages is how many pages are written to the log before it is copied to the main file;
	// 1000 if zero.
	CopyPages int

	// LogMost limits the write-ahead log, in bytes; 1 GiB if zero.
	LogMost int64

	Bound notice.Bound // of delivery lines; zero: [notice.Most]

	// NoRoom, for tests, reports whether the disk is full: nothing can be written and no file
	// can be created.
	NoRoom func() bool
}

const (
	defaultVisibility  = 90 * time.Second
	defaultMaxAttempts = 20
)

// DB is an open file. All methods are safe for concurrent use.
type DB struct {
	*txfile.File

	clock       engine.Clock
	random      engine.Random
	visibility  time.Duration
	maxAttempts int
	bound       notice.Bound

	arrived <-chan struct{}
	turns   turns
}

// Open opens the file at path, creates it if it does not exist, and migrates its schema. A file
// that a newer version of the program wrote is refused with [txfile.ErrNewerFile] and not touched.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	if opts.Clock == nil || opts.Random == nil {
		return nil, fmt.Errorf("sqlite: Open needs Options.Clock and Options.Random")
	}
	file, err := txfile.Open(ctx, path, txfile.Options{
		Clock: opts.Clock, Random: opts.Random, Sync: opts.Sync, Schema: tables.Migrations,
		Check: examine.Check, CheckTime: opts.Examine, Damaged: opts.Damaged,
		CopyPages: opts.CopyPages, LogMost: opts.LogMost, NoRoom: opts.NoRoom})
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	db := &DB{File: file, clock: opts.Clock, random: opts.Random, visibility: cmp.Or(opts.Visibility, defaultVisibility),
		maxAttempts: cmp.Or(opts.MaxAttempts, defaultMaxAttempts), bound: cmp.Or(opts.Bound, notice.Most)}
	db.arrived, _ = txfile.Watch(file, arrival{})
	return db, nil
}

// Probe tries a write that leaves nothing behind, to find out whether the disk still is full.
func (db *DB) Probe(ctx context.Context) error {
	return txfile.Probe(ctx, db.File, func(t *txfile.Tx) error {
		if _, err := t.Exec("INSERT INTO payloads (tenant, thread, digest, body) VALUES ('', '', 'probe', zeroblob(8192))"); err != nil {
			return err
		}
		if _, err := t.Exec("DELETE FROM payloads WHERE tenant = '' AND thread = '' AND digest = 'probe'"); err != nil {
			return err
		}
		_, err := t.Exec("DELETE FROM usage WHERE tenant = ''") // no tenant has stored it
		return err
	})
}

func (db *DB) now() int64 { return db.clock.Now().UnixMilli() }
