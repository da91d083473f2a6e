package sim

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// line is a delivery line, with what the index says of it.
type line struct {
	notice.Line
	index []indexed
}

// recordPlace is where the record of a notice is.
type recordPlace struct {
	notice.Key
	event int64
}

func (m *Memory) putLine(k notice.Key, l notice.Line) notice.Line {
	it := m.lines[k]
	if it == nil {
		it = &line{}
		m.lines[k] = it
	}
	it.index = m.inIndex(it.index, l.Due)
	it.Line = l
	return m.readLine(l)
}

func (m *Memory) readLine(l notice.Line) notice.Line {
	if m.Written {
		l = rewritten(l)
	}
	l.Entries = maps.Clone(l.Entries)
	return l
}

// HandOver implements [engine.Lines]: all of its parts at once.
func (m *Memory) HandOver(_ context.Context, req engine.HandOver) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trim(req.Key, m.addEntry(req), req.Now)
	return false, nil
}

// AddEntry is the first part of a hand-over. The others are those of what is too much for its line:
// PutRecord for each, and RemoveEntries.
func (m *Memory) AddEntry(req engine.HandOver) notice.Line {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.readLine(m.addEntry(req))
}

func (m *Memory) addEntry(req engine.HandOver) notice.Line {
	var old notice.Line
	if it := m.lines[req.Key]; it != nil {
		old = it.Line
	}
	l, added := old.HandOver(req.Event, req.Kind, req.Seq, req.Now)
	if added {
		m.putLine(req.Key, l)
	}
	return l
}

// trim stores a line without what is too much for it.
func (m *Memory) trim(k notice.Key, l notice.Line, now int64) {
	left, dead := l.Trim(k, m.Bound, now)
	for _, r := range dead {
		m.putRecord(r)
	}
	if len(dead) > 0 {
		m.putLine(k, left)
	}
}

// RemoveEntries removes the entries of these notices, on condition that none was added.
func (m *Memory) RemoveEntries(k notice.Key, of []notice.Record, adds int64) notice.Line {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lines[k].Line
	if l.Adds != adds {
		return m.readLine(l)
	}
	for _, r := range of {
		l = l.With(r.Event, nil)
	}
	return m.putLine(k, l)
}

// LineBound is that of delivery lines.
func (m *Memory) LineBound() notice.Bound { return m.Bound }

// ClaimLine implements delivery.Lines.
func (m *Memory) ClaimLine(_ context.Context, req engine.LineClaim) (notice.Line, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it := m.lines[req.Key]
	switch {
	case it == nil:
		return notice.Line{}, engine.ErrRefused
	case it.Claim == req.Claim && it.Lease != 0:
		return m.readLine(it.Line), nil
	case !it.Claimable(req.Now, req.Claim):
		return m.readLine(it.Line), engine.ErrRefused
	}
	l := it.Line
	l.Epoch, l.Lease, l.Claim, l.Due = l.Epoch+1, req.LeaseEnd, req.Claim, req.Due
	return m.putLine(req.Key, l), nil
}

// PutRecord is the first half of a write of a line that has a record. The other half is WriteLine
// without it.
func (m *Memory) PutRecord(r notice.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.putRecord(r)
}

// putRecord stores a record. A dead notice never takes the place of one that was delivered.
func (m *Memory) putRecord(r notice.Record) {
	at := recordPlace{r.Key, r.Event}
	if _, there := m.records[at]; !there || r.State != notice.StateDead {
		m.records[at] = r
	}
}

// WriteLine implements delivery.Lines: both halves at once.
func (m *Memory) WriteLine(_ context.Context, req engine.LineWrite) (notice.Line, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it := m.lines[req.Key]
	if it == nil || it.Epoch != req.Epoch {
		return notice.Line{}, engine.ErrFenced
	}
	if req.Record != nil {
		m.putRecord(*req.Record)
	}
	if req.Adds != 0 && it.Adds != req.Adds || req.Gone(it.Line) {
		return m.readLine(it.Line), engine.ErrRefused
	}
	l := it.With(req.Event, req.Entry)
	if req.Release {
		l = l.Released(req.Due)
	}
	return m.putLine(req.Key, l), nil
}

// RedriveNotice implements delivery.Lines.
func (m *Memory) RedriveNotice(_ context.Context, k notice.Key, event, now int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := recordPlace{k, event}
	r, there := m.records[at]
	if !there || r.State != notice.StateDead {
		return engine.ErrNotFound
	}
	delete(m.records, at)
	l := m.lines[k].Redrive(r, now)
	m.putLine(k, l)
	m.trim(k, l, now)
	return nil
}

// Record implements delivery.Lines.
func (m *Memory) Record(_ context.Context, k notice.Key, event int64) (notice.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, there := m.records[recordPlace{k, event}]
	if !there {
		return r, engine.ErrNotFound
	}
	return r, nil
}

// ForgetNotice implements delivery.Lines.
func (m *Memory) ForgetNotice(_ context.Context, k notice.Key, event int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := recordPlace{k, event}
	if m.records[at].State != notice.StateDead {
		return engine.ErrNotFound
	}
	delete(m.records, at)
	return nil
}

// Line implements delivery.Lines.
func (m *Memory) Line(_ context.Context, k notice.Key) (notice.Line, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it := m.lines[k]
	if it == nil {
		return notice.Line{}, engine.ErrNotFound
	}
	return m.readLine(it.Line), nil
}

// ThreadLines implements delivery.Lines.
func (m *Memory) ThreadLines(_ context.Context, tenant, thread string) (map[string]notice.Line, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := map[string]notice.Line{}
	for k, it := range m.lines {
		if k.Tenant == tenant && k.Thread == thread {
			lines[k.Endpoint] = m.readLine(it.Line)
		}
	}
	return lines, nil
}

// Records implements delivery.Lines. Its cursor is the number of what was shown.
func (m *Memory) Records(_ context.Context, tenant string, q engine.RecordQuery) ([]notice.Record, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []notice.Record
	for _, r := range m.records {
		if r.Tenant == tenant && (q.Thread == "" || r.Thread == q.Thread) && (q.Endpoint == "" || r.Endpoint == q.Endpoint) &&
			(!q.Dead || r.State == notice.StateDead) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b notice.Record) int {
		return cmp.Or(cmp.Compare(b.At, a.At), b.Key.Compare(a.Key), cmp.Compare(b.Event, a.Event))
	})
	return cut("d", all, q.Cursor, q.Limit)
}
