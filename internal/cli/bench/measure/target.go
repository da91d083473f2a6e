package measure

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/workload"
)

// target is what is measured: a runtime with its store.
type target interface {
	// begin starts a runtime that has no runs. dir is for its files.
	begin(ctx context.Context, dir string, desk *workload.Desk) (backend, error)

	// commits writes a few rows of 1 KB to the same store or disk, one after the other and with
	// the same durability, and returns how long each took in milliseconds, sorted.
	commits(ctx context.Context) ([]float64, error)

	close(ctx context.Context) error
}

// backend is a runtime, and its callers.
type backend interface {
	start(ctx context.Context) (run string, err error)
	settled(ctx context.Context, run string) (wire.Run, error) // once the run waits or is done
	decide(ctx context.Context, run string, d wire.Decision) error
	count() Costs // so far
	// usable returns a context that ends, with the reason as its cause, once no run goes on.
	usable(ctx context.Context) (context.Context, context.CancelFunc)
	close() error
}

// rawCommits is how many raw commits are measured before a round of a case, and again after it.
const rawCommits = 25
