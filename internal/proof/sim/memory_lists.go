package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Runs implements frontend.Store. Its cursor is the place of the last run that was shown.
func (m *Memory) Runs(_ context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []core.Record
	for at, it := range m.items {
		if at.tenant == tenant && (thread == "" || at.name == thread) {
			all = append(all, it.head.Record())
		}
	}
	for at, r := range m.archive {
		if at.tenant == tenant && (thread == "" || r.Thread == thread) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b core.Record) int { return cmp.Or(cmp.Compare(b.Born, a.Born), cmp.Compare(b.Run, a.Run)) })
	if cursor != "" {
		born, run, err := runPlace(cursor)
		if err != nil {
			return nil, "", err
		}
		all = slices.DeleteFunc(all, func(r core.Record) bool {
			return cmp.Or(cmp.Compare(r.Born, born), cmp.Compare(r.Run, run)) >= 0
		})
	}
	if limit = max(limit, 1); len(all) <= limit {
		return all, "", nil
	}
	return all[:limit], m.RunsBehind(all[limit-1].Born, all[limit-1].Run), nil
}

// RunsBehind implements frontend.Store.
func (m *Memory) RunsBehind(born int64, run string) string { return fmt.Sprintf("r%d/%s", born, run) }

// runPlace reads a cursor of Runs.
func runPlace(cursor string) (born int64, run string, err error) {
	inner, ours := strings.CutPrefix(cursor, "r")
	number, run, whole := strings.Cut(inner, "/")
	born, err = strconv.ParseInt(number, 10, 64)
	if !ours || !whole || err != nil {
		return 0, "", engine.ErrRefused
	}
	return born, run, nil
}

// Approvals implements frontend.Store. Its cursor is the number of what was shown.
func (m *Memory) Approvals(_ context.Context, tenant, cursor string, limit int) ([]core.Head, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []core.Head
	for at, it := range m.items {
		if at.tenant == tenant && it.head.Oldest != "" {
			all = append(all, m.read(it.head))
		}
	}
	slices.SortFunc(all, func(a, b core.Head) int {
		return cmp.Or(cmp.Compare(a.Oldest, b.Oldest), cmp.Compare(a.Thread, b.Thread))
	})
	return cut("a", all, cursor, limit)
}

func cut[T any](list string, all []T, cursor string, limit int) ([]T, string, error) {
	from := 0
	if cursor != "" {
		n, err := strconv.Atoi(cursor[1:])
		if cursor[:1] != list || err != nil {
			return nil, "", engine.ErrRefused
		}
		from = n
	}
	page := all[min(from, len(all)):]
	if limit = max(limit, 1); len(page) <= limit {
		return page, "", nil
	}
	return page[:limit], list + strconv.Itoa(from+limit), nil
}

// Entry is what the index says: a thread, and when it was due.
type Entry struct {
	engine.Wakeup
	Due int64
}

// DueBefore reads up to limit entries of the index, the earliest first, as they were a lag ago.
func (m *Memory) DueBefore(now int64, limit int) []Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dueBefore(now, limit)
}

func (m *Memory) dueBefore(now int64, limit int) (due []Entry) {
	seen := m.now() - m.Lag
	for at, it := range m.items {
		if entry := indexedAt(it.index, seen); entry != 0 && entry <= now {
			due = append(due, Entry{engine.Wakeup{Tenant: at.tenant, Thread: at.name}, entry})
		}
	}
	for k, it := range m.lines {
		if entry := indexedAt(it.index, seen); entry != 0 && entry <= now {
			due = append(due, Entry{engine.Wakeup{Tenant: k.Tenant, Thread: k.Thread, Endpoint: k.Endpoint}, entry})
		}
	}
	slices.SortFunc(due, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), keyOf(a.Wakeup).Compare(keyOf(b.Wakeup)))
	})
	return due[:min(limit, len(due))]
}

// keyOf is the line that a wake-up names, or would if it were for one.
func keyOf(w engine.Wakeup) notice.Key {
	return notice.Key{Tenant: w.Tenant, Thread: w.Thread, Endpoint: w.Endpoint}
}

// indexedAt is what a reader sees who sees the index as it was at a time.
func indexedAt(index []indexed, at int64) (due int64) {
	for _, entry := range index {
		if entry.at <= at {
			due = entry.due
		}
	}
	return due
}

// Move changes a due time that is still as it was read; won says whether it was.
func (m *Memory) Move(e Entry, next int64) (won bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.move(e, next)
}

func (m *Memory) move(e Entry, next int64) (won bool) {
	if e.Endpoint != "" {
		return m.moveLine(e, next)
	}
	h, ok := m.head(e.Tenant, e.Thread)
	if !ok || h.Due != e.Due {
		return false
	}
	h.Due = next
	m.put(h)
	return true
}

func (m *Memory) moveLine(e Entry, next int64) (won bool) {
	it := m.lines[keyOf(e.Wakeup)]
	if it == nil || it.Due != e.Due {
		return false
	}
	l := it.Line
	l.Due = next
	m.putLine(keyOf(e.Wakeup), l)
	return true
}

// TakeOverdue implements [engine.Overdue]: both at once.
func (m *Memory) TakeOverdue(ctx context.Context, now, next int64, limit int) (taken []engine.Wakeup, err error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", engine.ErrUnavailable, context.Cause(ctx))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.dueBefore(now, limit) {
		if m.move(e, next) {
			taken = append(taken, e.Wakeup)
		}
	}
	return taken, nil
}
