package query

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// mostCounted is how many runs are counted at most.
const mostCounted = 500

// Counts counts the calls that wait for an answer, over the runs of a tenant or of one of its
// agents, longest waiting run first. It reads no journal, and stops after [mostCounted] runs to
// bound the wait.
func (f *Reader) Counts(ctx context.Context, c frontend.Caller, agent string) (wire.Counts, error) {
	counts := wire.Counts{Kinds: map[string]int{}}
	leave, err := f.Pages.Take(ctx, c.Tenant)
	if err != nil {
		return counts, err
	}
	defer leave()
	for cursor, looked := "", 0; ; {
		found, err := storecall.Try(ctx, f.Clock, func() (piece[core.Head], error) {
			rows, next, err := f.Store.Approvals(ctx, c.Tenant, cursor, 100)
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
	open := journal.OpenSuspensions(journal.Place{Head: h, Record: h.Record(), Current: true})
	for _, call := range h.Calls {
		if open[call.Sus] {
			kinds[call.Kind.String()]++
		}
	}
	return kinds
}
