// Package treefeed merges the events of a run with those of the runs below it.
package treefeed

import (
	"context"
	"errors"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/family"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Most is how many open runs below one are followed at a time. The events of others are left out,
// and the child.started of each says so.
const Most = family.Most

// eventsAtOnce bounds what is read of each run at a time.
const eventsAtOnce = 50

// Reader reads the events of trees.
type Reader struct{ Runs *query.Reader }

// Grown reads a page of the events of a run and, once it has started others, of those below it too.
// A run that starts none is read as [query.Reader.Events] reads it.
func (r Reader) Grown(ctx context.Context, c frontend.Caller, run string, q query.EventQuery) (wire.EventPage, error) {
	if isTree(q.After) {
		return r.Events(ctx, c, run, q)
	}
	page, err := r.Runs.Events(ctx, c, run, q)
	first := slices.IndexFunc(page.Items, func(e wire.Event) bool { return e.Type == string(core.EventChildStarted) })
	if err != nil || first < 0 {
		return page, err
	}
	at := &branch{run: run, at: q.After}
	if first > 0 {
		at.at = page.Items[first-1].Cursor
	}
	q.After = (&trunk{branches: []*branch{at}}).cursor()
	if first > 0 {
		return wire.EventPage{Items: page.Items[:first], Next: q.After}, nil
	}
	return r.Events(ctx, c, run, q)
}

// Events reads a page of the events of a run and the runs below it, see [trunk] for their order. A
// reader that goes on from Next, or from the cursor of an event, misses none and sees none twice.
// If q.Live is set, live events of the run itself are among them. The page is done once the whole
// tree is, but for remote agents that have yet to confirm that they stopped.
func (r Reader) Events(ctx context.Context, c frontend.Caller, run string, q query.EventQuery) (page wire.EventPage, err error) {
	if _, err := r.Runs.Find(ctx, c.Tenant, run); err != nil {
		return page, err
	}
	if q.Tail && q.After == "" {
		if q.After, err = r.end(ctx, c, run); err != nil {
			return page, err
		}
	}
	err = r.Runs.Held.Until(ctx, c.Tenant, "", q.Wait, false, func() (bool, error) {
		page, err = r.page(ctx, c, run, q)
		return page.Done || q.Rest && page.Waiting || len(page.Items) > 0, err
	})
	return page, err
}

func (r Reader) page(ctx context.Context, c frontend.Caller, run string, q query.EventQuery) (wire.EventPage, error) {
	branches, err := readCursor(q.After, run)
	if err != nil {
		return wire.EventPage{}, err
	}
	if q.Asked {
		return r.asked(ctx, c, run, q)
	}
	t := &trunk{branches: branches, fetch: func(b *branch) error {
		return r.fetch(ctx, c, run, query.EventQuery{Bytes: journal.PageBytes / len(branches), Live: q.Live && b.run == run}, b)
	}}
	most := q.Limit
	if most <= 0 {
		most = 100
	}
	items, err := t.take(min(most, 1000), journal.PageBytes)
	if err != nil {
		return wire.EventPage{}, err
	}
	page := wire.EventPage{Items: items, Next: t.cursor(), Done: t.done()}
	if page.Done || !t.idle() {
		return page, nil
	}
	p, err := r.Runs.Find(ctx, c.Tenant, run)
	if err != nil {
		return page, err
	}
	if page.Waiting, err = r.Runs.AllRest(ctx, p); page.Waiting && err == nil {
		page.Waiting, err = r.quiet(ctx, c, run, t)
	}
	if page.Waiting && p.Record.Status == core.RunDone && err == nil {
		page.Done, err = r.settled(ctx, c, run, t)
	}
	return page, err
}

// asked reads a page that rests if a run of the tree asks. What it asks comes before the page ends.
func (r Reader) asked(ctx context.Context, c frontend.Caller, run string, q query.EventQuery) (page wire.EventPage, err error) {
	p, err := r.Runs.Find(ctx, c.Tenant, run)
	if err != nil {
		return page, err
	}
	asks, err := r.Runs.Rests(ctx, p)
	if err != nil {
		return page, err
	}
	q.Asked = false
	page, err = r.page(ctx, c, run, q)
	page.Waiting = page.Waiting || asks
	return page, err
}

// quiet says that nothing was committed between the reads of the page and the look at whether the
// runs rest: a page that says so has shown what they rest with, and they rested all at once, before
// the look.
//
//	reader:  reads all there is ──────────────────────────── looks: the run is done
//	run:                         says its last words ── ends
func (r Reader) quiet(ctx context.Context, c frontend.Caller, root string, t *trunk) (bool, error) {
	for _, b := range t.branches {
		if b.done || b.missing {
			continue
		}
		if err := r.fetch(ctx, c, root, query.EventQuery{Bytes: journal.PageBytes}, b); err != nil || len(b.left) > 0 {
			return false, err
		}
	}
	return true, nil
}

// settled says that of the runs below one that is done, those which are still open only owe a stop
// to their remote agents, and all events up to there were taken. The rest, which says that they are
// done, may take a day.
func (r Reader) settled(ctx context.Context, c frontend.Caller, root string, t *trunk) (bool, error) {
	for _, b := range t.branches {
		if b.done || b.missing {
			continue
		}
		p, err := r.Runs.Find(ctx, c.Tenant, b.run)
		if err != nil || p.Record.Peer == nil || p.Record.End == nil {
			return false, err
		}
		if err := r.fetch(ctx, c, root, query.EventQuery{Bytes: journal.PageBytes}, b); err != nil || len(b.left) > 0 {
			return false, err
		}
	}
	return true, nil
}

// fetch reads on in the stream of one run.
func (r Reader) fetch(ctx context.Context, c frontend.Caller, root string, q query.EventQuery, b *branch) error {
	q.After, q.Limit = b.at, eventsAtOnce
	got, err := r.Runs.Events(ctx, c, b.run, q)
	refused, is := errors.AsType[*refusal.Error](err)
	switch {
	case is && refused.Code == refusal.CodeRunNotFound && b.run != root:
		b.missing, b.read = true, true
		return nil
	case err != nil:
		return err
	}
	b.left, b.done, b.read = got.Items, got.Done, len(got.Items) == 0 || got.Done || got.Waiting
	if len(b.left) == 0 || b.path != nil || b.run == root {
		return nil
	}
	b.path, err = r.path(ctx, c, root, b.run)
	return err
}

// path is how a run that a cursor names is reached from the one that was asked for.
func (r Reader) path(ctx context.Context, c frontend.Caller, root, run string) ([]wire.PathStep, error) {
	p, err := r.Runs.Find(ctx, c.Tenant, run)
	if err != nil {
		return nil, err
	}
	path, err := r.Runs.Family.Path(ctx, p)
	i := slices.IndexFunc(path, func(s wire.PathStep) bool { return s.RunID == root })
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, journal.BadCursor() // it is none of this tree
	}
	return path[i+1:], nil
}

// end is the cursor behind all that is there.
func (r Reader) end(ctx context.Context, c frontend.Caller, run string) (string, error) {
	p, err := r.Runs.Find(ctx, c.Tenant, run)
	if err != nil {
		return "", err
	}
	t := trunk{branches: []*branch{{run: run, at: journal.EndOf(p.Record)}}}
	below, _, err := r.Runs.Family.Below(ctx, p)
	for _, child := range below {
		b := &branch{run: child.Run}
		if child.Started() {
			b.at = journal.EndOf(child.Place.Record)
		}
		t.branches = append(t.branches, b)
	}
	return t.cursor(), err
}
