package examine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

// Check examines the file before it is used, for at most limit, and refuses a damaged file.
func Check(ctx context.Context, path string, limit time.Duration) error {
	short, stop := context.WithTimeout(ctx, limit)
	defer stop()
	r, err := File(short, path, nil)
	// another process is opening or closing the file
	for err != nil && dbfile.Busy(err) && short.Err() == nil {
		r, err = File(short, path, nil)
	}
	switch {
	case err != nil || ctx.Err() != nil:
		return errors.Join(err, ctx.Err())
	case r.Newer():
		return fmt.Errorf("%w: %s", txfile.ErrNewerFile, r.Findings[0].Detail)
	case r.Damaged():
		return &DamageError{Path: path, Findings: r.Findings}
	}
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
