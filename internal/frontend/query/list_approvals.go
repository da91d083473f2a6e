package query

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/family"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runview"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// approvalFilter is what the entries of the inbox have in common.
type approvalFilter struct {
	Agent  string `json:"agent,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Thread string `json:"thr,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Text   string `json:"q,omitempty"`
	Mine   string `json:"mine,omitempty"`
	// the list is by urgency: a cursor of one order is none of another
	Urgent bool `json:"urg,omitempty"`
}

// Approvals lists every call that waits for an answer, over all runs: the longest waiting run
// first or, in the order [OrderDeadline], the one with the least time left. The calls of one run
// stay together.
func (f *Reader) Approvals(ctx context.Context, c frontend.Caller, q List) (wire.Page[wire.Approval], error) {
	wanted := approvalFilter{q.Agent, q.Kind, q.Thread, q.Tool, strings.ToLower(q.Text), q.Mine, q.Order == OrderDeadline}
	mark := markOf(wanted)
	if err := cmp.Or(q.check(), q.checkInbox()); err != nil {
		return wire.Page[wire.Approval]{}, err
	}
	read := func(ctx context.Context, cursor string, n int) ([]core.Head, string, error) {
		return f.Store.Approvals(ctx, c.Tenant, cursor, n)
	}
	if wanted.Urgent {
		read = f.urgent(c.Tenant)
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
			heads, next, err := read(ctx, cursor, n)
			return piece[core.Head]{heads, len(heads), next}, err
		},
		show: func(heads []core.Head) ([]wire.Approval, int, error) {
			return f.approvalsOf(ctx, c, wanted, q.Asked, heads)
		},
		weigh: func(a wire.Approval) int { return runview.WeighPending(a.Pending) },
	})
	page.Next = marked(page.Next, mark)
	return page, err
}

// Inbox is a page of [Reader.Approvals] with how the caller is asked and, if count is set, how many
// questions there are. With no filter but [KindQuestion], these are all that wait in the tenant;
// else those on this page, and AtLeast says that there may be more.
func (f *Reader) Inbox(ctx context.Context, c frontend.Caller, q List, count bool) (wire.InboxPage, error) {
	q.Asked = true
	page, err := f.Approvals(ctx, c, q)
	shown := wire.InboxPage{Items: page.Items, Next: page.Next}
	if err != nil || !count {
		return shown, err
	}
	all := approvalFilter{q.Agent, "", q.Thread, q.Tool, q.Text, q.Mine, false}
	if all == (approvalFilter{}) && (q.Kind == "" || q.Kind == KindQuestion) {
		shown.Count, err = f.questions(ctx, c)
		return shown, err
	}
	shown.Count = &wire.InboxCount{AtLeast: page.Next != "" || q.Cursor != ""}
	for _, a := range page.Items {
		if a.Kind != core.KindClient.String() {
			shown.Count.Questions++
		}
	}
	return shown, nil
}

// questions counts by the index of the store or, without one, by the first runs.
func (f *Reader) questions(ctx context.Context, c frontend.Caller) (*wire.InboxCount, error) {
	if index, has := f.Store.(UrgencyIndex); has {
		n, err := storecall.Try(ctx, f.Clock, func() (int, error) { return index.Questions(ctx, c.Tenant) })
		return &wire.InboxCount{Questions: n}, err
	}
	n, err := f.Counts(ctx, c, "")
	return &wire.InboxCount{Questions: n.Waiting - n.Kinds[core.KindClient.String()], AtLeast: n.AtLeast}, err
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
	if w.Kind == "" || len(h.Calls) == 0 {
		return true
	}
	open := openByKind(h)
	if w.Kind == KindQuestion {
		delete(open, core.KindClient.String())
		return len(open) > 0
	}
	return open[w.Kind] > 0
}

// has says whether an entry fits the filter, of a run that does.
func (w approvalFilter) has(a wire.Approval) bool {
	kind := w.Kind == "" || a.Kind == w.Kind || w.Kind == KindQuestion && a.Kind != core.KindClient.String()
	return kind && (w.Tool == "" || a.Tool == w.Tool) && w.reads(a) && (w.Mine == "" || a.AskedAs != "" && (w.Mine == MineAny || w.Mine == a.AskedAs))
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

func (f *Reader) approvalsOf(ctx context.Context, c frontend.Caller, w approvalFilter, asked bool, heads []core.Head) (approvals []wire.Approval, fit int, err error) {
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
		if asked || w.Mine != "" {
			if err := f.noteAsked(ctx, c, h, shown.Asked(), there); err != nil {
				return nil, 0, err
			}
		}
		if w.picks() {
			there = slices.DeleteFunc(there, func(a wire.Approval) bool { return !w.has(a) })
		}
		if len(there) > 0 || !w.picks() {
			fit++
		}
		approvals = append(approvals, there...)
	}
	return approvals, fit, e.end()
}
