package query

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// List says which part of a list is wanted: the rows that fit all of its filters. A page is read in
// pieces until it is full. It ends early once it is heavy ([journal.PageBytes]) or enough rows were
// scanned ([mostLooked]): it may be short, even empty, and have a next one. A cursor is good for
// the filters of the page it came with.
type List struct {
	Status        string            // of runs: one of [RunStatuses]; empty for all
	Agent         string            // empty for all
	Reason        string            // of runs that are done: one of [RunReasons]
	ResponseState string            // of runs that are done: one of [ResponseStates]
	Metadata      map[string]string // of runs: members of their metadata, as text
	CreatedAfter  time.Time         // of runs: created at this time or later; zero for all
	CreatedBefore time.Time         // of runs: created before it
	Kind          string            // of approvals: one of [CallKinds]
	Tool          string            // of approvals: the tool of the call
	Thread        string            // of approvals: of the run of this conversation
	Text          string            // of approvals: in what it is called
	Mine          string            // of approvals: one of [Mines]
	Asked         bool              // of approvals: say how the caller is asked

	Limit  int    // at most so many runs
	Cursor string // of the page before; empty for the first
	Data   bool   // of messages: with the bytes of images and documents
	Order  string // one of [Orders] or [InboxOrders]; empty for oldest first
}

// listPiece is how many runs of a list are read at once, and mostLooked how many for one page.
const (
	listPiece  = 10
	mostLooked = 500
)

// Runs lists runs, newest first.
func (f *Reader) Runs(ctx context.Context, c frontend.Caller, q List) (wire.Page[wire.Run], error) {
	return f.runs(ctx, c, "", q)
}

// ThreadRuns lists the runs of a thread, newest first.
func (f *Reader) ThreadRuns(ctx context.Context, c frontend.Caller, thread string, q List) (wire.Page[wire.Run], error) {
	if _, err := f.LoadThread(ctx, c.Tenant, thread); err != nil {
		return wire.Page[wire.Run]{}, err
	}
	return f.runs(ctx, c, thread, q)
}

func (f *Reader) runs(ctx context.Context, c frontend.Caller, thread string, q List) (wire.Page[wire.Run], error) {
	wanted, err := q.filter()
	if err != nil {
		return wire.Page[wire.Run]{}, err
	}
	mark := markOf(wanted)
	cursor, err := unmarked(q.Cursor, mark)
	if err != nil {
		return wire.Page[wire.Run]{}, err
	}
	w := walk{f: f, tenant: c.Tenant, thread: thread, filter: wanted}
	if mark != "" {
		w.size = listPiece
	}
	page, err := gather(ctx, f, c.Tenant, w.start(cursor), limit(q.Limit, 20, 100), list[core.Record, wire.Run]{
		read: func(cursor string, n, room int) (piece[core.Record], error) { return w.read(ctx, cursor, n, room) },
		show: func(records []core.Record) ([]wire.Run, int, error) {
			runs, err := f.shown(ctx, c, wanted, records)
			return runs, len(runs), err
		},
		weigh: weighRun,
	})
	page.Next = marked(page.Next, mark)
	return page, err
}

// list is how a list is read from the store, shown to callers and weighed.
type list[From, To any] struct {
	// at most n rows, of at most room that were looked at
	read func(cursor string, n, room int) (piece[From], error)
	// fit: how many of the rows were wanted
	show  func([]From) (items []To, fit int, err error)
	weigh func(To) int
}

// piece is a part of a list.
type piece[T any] struct {
	rows   []T
	looked int    // how many were looked at for these
	next   string // behind them; empty at the end of the list
}

// gather reads a page piece by piece, until it has most rows, or is heavy, or the list ends.
func gather[From, To any](ctx context.Context, f *Reader, tenant, cursor string, most int, l list[From, To]) (wire.Page[To], error) {
	page := wire.Page[To]{Items: []To{}, Next: cursor}
	leave, err := f.Pages.Take(ctx, tenant)
	if err != nil {
		return page, err
	}
	defer leave()
	for weight, looked := 0, 0; most > 0 && weight < journal.PageBytes && looked < mostLooked; {
		found, err := storecall.Try(ctx, f.Clock, func() (piece[From], error) {
			return l.read(page.Next, min(most, listPiece), mostLooked-looked)
		})
		if err != nil {
			return page, listRefused(err)
		}
		items, fit, err := l.show(found.rows)
		if err != nil {
			return page, err
		}
		most -= fit
		looked += found.looked
		for _, item := range items {
			weight += l.weigh(item)
		}
		page.Items = append(page.Items, items...)
		if page.Next = found.next; page.Next == "" {
			break
		}
	}
	return page, nil
}

func listRefused(err error) error {
	if errors.Is(err, engine.ErrRefused) {
		return badListCursor()
	}
	return err
}

func badListCursor() *refusal.Error {
	return refusal.New(refusal.CodeBadCursor, "this cursor belongs to another list or to other filters; start again without a cursor")
}

// Messages returns a page of a thread's conversation, oldest first unless q.Order says otherwise:
// the newest are read without those before them. The log is append-only: if a
// call was suspended, its entry marked Pending stays and the result follows later. Messages from
// the runtime itself to the model are left out.
func (f *Reader) Messages(ctx context.Context, c frontend.Caller, thread string, q List) (wire.Page[wire.Message], error) {
	page := wire.Page[wire.Message]{Items: []wire.Message{}}
	h, err := f.LoadThread(ctx, c.Tenant, thread)
	if err != nil {
		return page, err
	}
	if err := checkWord("order", q.Order, Orders); err != nil {
		return page, err
	}
	of := func(s core.Segment) []wire.Message { return messagesOf(h.Thread, s, q.Data) }
	if q.Order == OrderNewest {
		at, err := journal.ReadNewest(q.Cursor, h.Thread, h.Seq)
		if err != nil {
			return page, err
		}
		page.Items, at, err = journal.CollectNewest(ctx, f.Frontend.Reader, h, at, limit(q.Limit, 200, 1000), journal.PageBytes, of, weighMessage)
		page.Next = at.Of(h.Thread)
		return page, err
	}
	at, err := journal.ReadCursor(q.Cursor, h.Thread, 1, h.Seq)
	if err != nil {
		return page, err
	}
	page.Items, at, err = journal.Collect(ctx, f.Frontend.Reader, h, at, h.Seq, limit(q.Limit, 200, 1000), journal.PageBytes, of, weighMessage)
	if at.Seq <= h.Seq {
		page.Next = at.Of(h.Thread)
	}
	return page, err
}

// Agents lists what can be run, by name.
func (f *Reader) Agents(ctx context.Context, c frontend.Caller) (wire.Page[wire.Agent], error) {
	page := wire.Page[wire.Agent]{Items: []wire.Agent{}}
	defs, err := storecall.Try(ctx, f.Clock, func() ([]engine.Definition, error) { return f.Catalog.Deployed(ctx, c.Tenant) })
	if err != nil {
		return page, err
	}
	missing := f.Missing()
	for _, def := range defs {
		page.Items = append(page.Items, f.agent(def, missing))
		delete(missing, def.Name)
	}
	for name, reason := range missing { // never deployed
		page.Items = append(page.Items, wire.Agent{Name: name, Unavailable: reason, Tools: []wire.Tool{}})
	}
	slices.SortFunc(page.Items, func(a, b wire.Agent) int { return cmp.Compare(a.Name, b.Name) })
	return page, nil
}

// Startable lists the deployed agents that the caller may start now.
func (f *Reader) Startable(ctx context.Context, c frontend.Caller) ([]wire.Agent, error) {
	defs, err := storecall.Try(ctx, f.Clock, func() ([]engine.Definition, error) { return f.Catalog.Deployed(ctx, c.Tenant) })
	if err != nil {
		return nil, err
	}
	var startable []wire.Agent
	missing := f.Missing()
	for _, def := range defs {
		err := f.MayStart(ctx, c, def)
		if err != nil && !errors.As(err, new(*refusal.Error)) && !storecall.Damaged(ctx, err) {
			return nil, err
		}
		if a := f.agent(def, missing); err == nil && a.Unavailable == "" {
			startable = append(startable, a)
		}
	}
	slices.SortFunc(startable, func(a, b wire.Agent) int { return cmp.Compare(a.Name, b.Name) })
	return startable, nil
}

// agent describes a stored definition. One that cannot be described does not hide the others.
func (f *Reader) agent(def engine.Definition, missing map[string]string) wire.Agent {
	shown, err := f.Describe(def)
	if err != nil {
		shown = wire.Agent{Name: def.Name, Version: def.Digest, Unavailable: "this server cannot read its definition", Tools: []wire.Tool{}}
	}
	if reason, cannot := missing[def.Name]; cannot {
		shown.Unavailable = reason
	}
	return shown
}

// Agent shows the deployed version of an agent.
func (f *Reader) Agent(ctx context.Context, c frontend.Caller, name string) (wire.Agent, error) {
	missing := f.Missing()
	def, err := f.Current(ctx, c.Tenant, name)
	if reason, cannot := missing[name]; cannot && errors.As(err, new(*refusal.Error)) {
		return wire.Agent{Name: name, Unavailable: reason, Tools: []wire.Tool{}}, nil
	}
	if err != nil {
		return wire.Agent{}, err
	}
	return f.agent(def, missing), nil
}

// limit is what a caller asked for, within bounds; zero is the usual size.
func limit(asked, usual, most int) int {
	if asked <= 0 {
		return usual
	}
	return min(asked, most)
}
