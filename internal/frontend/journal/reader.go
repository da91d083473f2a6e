// Package journal finds runs and reads what is committed of them: the segments of their threads and
// the suspensions in these.
package journal

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
	"github.com/dormouse-dev/dormouse/internal/frontend/turns"
)

// Store has the threads. Errors are those of package engine.
type Store interface {
	// Load reads a thread's head, consistently. [engine.ErrNotFound] if there is none.
	Load(ctx context.Context, tenant, thread string) (core.Head, error)

	// Segments reads from..to of the journal, in order, consistently.
	Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error)

	// Archived is a run whose place in the head another has taken. [engine.ErrNotFound] if
	// there is none.
	Archived(ctx context.Context, tenant, run string) (core.Record, error)
}

// Reader reads from a store. It is safe for concurrent use.
type Reader struct {
	store Store
	Clock engine.Clock
	Pages *turns.Queue // those who read a page take a turn first
}

// New makes a reader, for so many pages at once.
func New(store Store, clock engine.Clock, pages int) *Reader {
	return &Reader{store: store, Clock: clock, Pages: turns.New(pages)}
}

// Load reads the head of a thread; the store is asked again while it is unavailable, see
// [storecall.Try]. [engine.ErrNotFound] if there is none.
func (r *Reader) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	return storecall.Try(ctx, r.Clock, func() (core.Head, error) { return r.store.Load(ctx, tenant, thread) })
}
