package frontend

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// mostCounted is how many runs are counted at most.
const mostCounted = 500

// Counts counts the calls that wait for an answer, over the runs of a tenant or of one of its agents, longest waiting run first. It reads no
// journal, and stops after [mostCounted] runs to bound the wait.
func (f *Frontend) Counts(ctx context.Context, c Caller, agent string) (wire.Counts, error) {
	counts := wire.Counts{Kinds: map[string]int{}}
	leave, err := f.pages.take(ctx, c.Tenant)
	if err != nil {
		return counts, err
	}
	defer leave()
	for cursor, looked := "", 0; ; {
		found, err := try(ctx, f, func() (piece[core.Head], error) {
			rows, next, err := f.store.Approvals(ctx, c.Tenant, cursor, 100)
			return piece[core.Head]{rows, len(rows), next}, err
		})
		if err != nil {
			return counts, err
		}
		for _, h := range found.rows {
			if agent == "" || h.Agent == agent {
				count(&counts, h)
			}
		}
		looked += len(found.rows)
		if cursor = found.next; cursor == "" || looked >= mostCounted {
			counts.AtLeast = counts.AtLeast || cursor != ""
			return counts, nil
		}
	}
}

// count adds the calls of a run that wait.
func count(to *wire.Counts, h core.Head) {
	if len(h.Calls) == 0 { // it cannot be read
		to.Waiting++
		to.AtLeast = true
		return
	}
	for kind, n := range openByKind(h) {
		to.Waiting += n
		to.Kinds[kind] += n
	}
}

// openByKind is how many calls of a run wait for an answer, by kind.
func openByKind(h core.Head) map[string]int {
	kinds := map[string]int{}
	open := openSuspensions(place{head: h, record: h.Record(), current: true})
	for _, call := range h.Calls {
		if open[call.Sus] {
			kinds[call.Kind.String()]++
		}
	}
	return kinds
}
