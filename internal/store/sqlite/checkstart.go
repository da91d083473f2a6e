package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// checkStart examines the file before it is used, for as long as [Options.Examine] says, and
// refuses it if something is wrong, unless it is to be served as it is.
func (db *DB) checkStart(ctx context.Context) error {
	if db.examine == 0 || db.made {
		return nil
	}
	short, stop := context.WithTimeout(ctx, db.examine)
	defer stop()
	r, err := Examine(short, db.path, nil)
	// another process is opening it, or ending
	for err != nil && dbfile.Busy(err) && short.Err() == nil {
		r, err = Examine(short, db.path, nil)
	}
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	if r.Newer() {
		return fmt.Errorf("%w: %s", ErrNewerFile, r.Findings[0].Detail)
	}
	if !r.Damaged() {
		return nil
	}
	damage := &DamageError{Path: db.path, Findings: r.Findings}
	if db.evenDamaged {
		_ = db.note(damage)
		db.troubles.lasts = true // nothing else uses the file yet
		return nil
	}
	return damage
}

// alone refuses a file that a failed flush has left while another process has it open. What the
// log's index says was copied before may be lost, and while any process has the index open no start
// copies it again:
//
//	a reader opens the file ── part of the log is copied ── the flush fails, the server ends ── it starts again, and copies the rest alone
func (db *DB) alone() error {
	marked, there := readMark(db.path)
	if !there || !marked.torn {
		return nil
	}
	if shared(db.path) {
		return fmt.Errorf("%w: a flush of the database failed, and another program has it open since then: a backup, sqlite3 or another server. End that, and start again", engine.ErrDisk)
	}
	db.marks.torn = true
	return nil
}

// DamageError refuses a file in which something is wrong.
type DamageError struct {
	Path     string
	Findings []Finding
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s: %s (%d found)", e.Path, e.Findings[0].Detail, len(e.Findings))
}

// Unwrap makes it an [engine.ErrDamaged], and [ErrLost] if that is what was found.
func (e *DamageError) Unwrap() []error {
	for _, f := range e.Findings {
		if f.Code == FindOlder || f.Code == FindMissing {
			return []error{engine.ErrDamaged, ErrLost}
		}
	}
	return []error{engine.ErrDamaged}
}
