package query

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// unreadable marks an entry of a list that cannot be read. The others are still shown: one run must
// not keep an approver from the rest.
func unreadable() *wire.RunError {
	return &wire.RunError{Code: string(refusal.CodeUnreadable), Detail: "the server can't read this run's stored data now; the other entries are complete. If this persists, ask the operator to check the store"}
}

// entries decides what becomes of a list some of whose entries cannot be read.
type entries struct {
	read   bool  // some entry could be
	silent error // the store did not answer
}

// failed says why the whole list cannot be shown after one entry could not be read; nil if only
// that entry is affected, as far as is known. When the store did not answer for two entries and
// none could be read, the whole list fails.
func (e *entries) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case ofOneEntry(err):
		return nil
	case e.silent != nil && !e.read:
		return err
	}
	e.silent = err
	return nil
}

// ofOneEntry reports whether err concerns the stored data of one entry only, so that the others may
// still be readable.
func ofOneEntry(err error) bool {
	return errors.Is(err, engine.ErrUnreadable) || errors.Is(err, engine.ErrDamaged) || !errors.Is(err, engine.ErrUnavailable)
}

// end says why the whole list cannot be shown, once all entries were tried.
func (e *entries) end() error {
	if e.read {
		return nil
	}
	return e.silent
}
