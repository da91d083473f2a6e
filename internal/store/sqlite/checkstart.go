package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
)

// checkStart examines the file before it is used, for at most [Options.Examine], and refuses a
// damaged file unless it is to be served anyway.
func (db *DB) checkStart(ctx context.Context) error {
	if db.examine == 0 || db.made {
		return nil
	}
	short, stop := context.WithTimeout(ctx, db.examine)
	defer stop()
	r, err := Examine(short, db.path, nil)
	// another process is opening or closing the file
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
		db.troubles.lasts = true // no one else uses the file yet
		return nil
	}
	return damage
}

// alone refuses a file that a failed flush has left behind while another process has it open. The
// pages that were copied before, according to the index of the log, may be lost, and while any
// process has the index open no start copies them again:
//
//	a reader opens the file ── part of the log is copied ── the flush fails, the server ends
//	── it starts again, and copies only the rest
func (db *DB) alone() error {
	marked, there := mark.Read(db.path)
	if !there || !marked.Torn {
		return nil
	}
	if dbfile.Shared(db.path) {
		return fmt.Errorf("%w: a flush of the database failed, and another program (a backup, sqlite3 or another server) has kept it open since; end that program and start again", engine.ErrDisk)
	}
	db.mark.Torn = true
	return nil
}

// DamageError refuses a damaged file.
type DamageError struct {
	Path     string
	Findings []Finding
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s: %s (%d found)", e.Path, e.Findings[0].Detail, len(e.Findings))
}

// Unwrap returns [engine.ErrDamaged], and [mark.ErrLost] if that is what was found.
func (e *DamageError) Unwrap() []error {
	for _, f := range e.Findings {
		if f.Code == FindOlder || f.Code == FindMissing {
			return []error{engine.ErrDamaged, mark.ErrLost}
		}
	}
	return []error{engine.ErrDamaged}
}
