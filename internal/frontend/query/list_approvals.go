package query

import (
	"context"
	"errors"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/family"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runview"
)

// approvalFilter is what the entries of the inbox have in common.
type approvalFilter struct {
	Agent  string `json:"agent,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Thread string `json:"thr,omitempty"`
	Tool   string `json:"tool,omitempty"`
}

// Approvals lists every call that waits for an answer, over all runs, longest waiting run first.
func (f *Reader) Approvals(ctx context.Context, c frontend.Caller, q List) (wire.Page[wire.Approval], error) {
	wanted := approvalFilter{q.Agent, q.Kind, q.Thread, q.Tool}
	mark := markOf(wanted)
	if err := q.check(); err != nil {
		return wire.Page[wire.Approval]{}, err
	}
	cursor, err := unmarked(q.Cursor, mark)
	if err != nil {
		return wire.Page[wire.Approval]{}, err
	}
	page, err := gather(ctx, f, c.Tenant, cursor, limit(q.Limit, 50, 200), list[core.Head, wire.Approval]{
		read: func(cursor string, n, _ int) (piece[core.Head], error) {
			if q.Thread != "" {
				return f.waitingIn(ctx, c, q.Thread, cursor)
			}
			heads, next, err := f.Store.Approvals(ctx, c.Tenant, cursor, n)
			return piece[core.Head]{heads, len(heads), next}, err
		},
		show:  func(heads []core.Head) ([]wire.Approval, int, error) { return f.approvalsOf(ctx, wanted, heads) },
		weigh: func(a wire.Approval) int { return runview.WeighPending(a.Pending) },
	})
	page.Next = marked(page.Next, mark)
	return page, err
}

// waitingIn is the inbox of one thread: its head, if anything is suspended in it. It is one piece,
// so that no cursor leads into it.
func (f *Reader) waitingIn(ctx context.Context, c frontend.Caller, thread, cursor string) (found piece[core.Head], err error) {
	if cursor != "" {
		return found, engine.ErrRefused
	}
	if len(thread) > journal.MaxID {
		return found, nil
	}
	head, err := f.Store.Load(ctx, c.Tenant, thread)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return found, nil
	case err == nil && head.Oldest != "":
		found.rows, found.looked = []core.Head{head}, 1
	}
	return found, err
}

// fits says whether the run of a head may have entries that fit the filter. It asks the head alone,
// so that the journals of others are not read. A run that cannot be read may be of any kind.
func (w approvalFilter) fits(h core.Head) bool {
	if w.Agent != "" && h.Agent != w.Agent {
		return false
	}
	return w.Kind == "" || len(h.Calls) == 0 || openByKind(h)[w.Kind] > 0
}

// has says whether an entry fits the filter, of a run that does.
func (w approvalFilter) has(a wire.Approval) bool {
	return (w.Kind == "" || a.Kind == w.Kind) && (w.Tool == "" || a.Tool == w.Tool)
}

// waitingWithPath is what waits in a run, and the runs above it. If these can't be read, the path
// is left out.
func (f *Reader) waitingWithPath(ctx context.Context, tree *family.Tree, h core.Head) (runview.View, []wire.PathStep, error) {
	p := journal.Place{Head: h, Record: h.Record(), Current: true}
	shown, err := f.View(ctx, p)
	if err != nil {
		return shown, nil, err
	}
	path, err := tree.Path(ctx, p)
	if ofOneEntry(err) {
		err = nil
	}
	return shown, path, err
}

func (f *Reader) approvalsOf(ctx context.Context, w approvalFilter, heads []core.Head) (approvals []wire.Approval, fit int, err error) {
	var e entries
	tree := f.Family.Remembering()
	for _, h := range heads {
		if !w.fits(h) {
			continue
		}
		shown, path, err := f.waitingWithPath(ctx, tree, h)
		if err != nil || len(h.Calls) == 0 {
			if err := e.failed(ctx, err); err != nil {
				return nil, 0, err
			}
			fit++
			approvals = append(approvals, wire.Approval{RunID: h.Run, ThreadID: h.Thread, Agent: h.Agent, Error: unreadable(), Pending: wire.Pending{Since: wire.Millis(h.At)}})
			continue
		}
		e.read = true
		there := shown.ApprovalsIn(h, path)
		if w.Kind != "" || w.Tool != "" {
			there = slices.DeleteFunc(there, func(a wire.Approval) bool { return !w.has(a) })
		}
		if len(there) > 0 || w.Kind == "" && w.Tool == "" {
			fit++
		}
		approvals = append(approvals, there...)
	}
	return approvals, fit, e.end()
}
