package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Memory is a store of single items with conditional writes, as the protocol describes it for
// DynamoDB: a commit is a segment and then a head, two writes between which anything can happen,
// and the index that the sweep reads lags behind. Safe for concurrent use.
type Memory struct {
	Clock engine.Clock

	// Written keeps everything in its stored form and reads it anew each time, as a real store
	// does. Slow.
	Written bool

	// Lag is how old the index is that the sweep reads, in ms.
	Lag int64

	// Bound is that of delivery lines.
	Bound notice.Bound

	mu       sync.Mutex
	items    map[place]*item
	keys     map[place]engine.Key
	archive  map[place]core.Record
	payloads map[place][]byte
	feed     map[string][]engine.FeedEntry // by tenant
	fed      int                           // entries so far
	lines    map[notice.Key]*line
	records  map[recordPlace]notice.Record
}

// place is a key of a table: a tenant and what is its own within it.
type place struct{ tenant, name string }

// item is a thread's head, its journal, and what the index says of it.
type item struct {
	head     core.Head
	segments map[int64]core.Segment
	index    []indexed // the newest last; the older ones as long as a reader may still see them
}

type indexed struct{ at, due int64 }

// NewMemory is empty.
func NewMemory(clock engine.Clock) *Memory {
	return &Memory{Clock: clock, Bound: notice.Most, items: map[place]*item{}, keys: map[place]engine.Key{}, archive: map[place]core.Record{}, payloads: map[place][]byte{},
		feed: map[string][]engine.FeedEntry{}, lines: map[notice.Key]*line{}, records: map[recordPlace]notice.Record{}}
}

func (m *Memory) now() int64 { return m.Clock.Now().UnixMilli() }

// put makes h the head of its thread.
func (m *Memory) put(h core.Head) core.Head {
	at := place{h.Tenant, h.Thread}
	it := m.items[at]
	if it == nil {
		it = &item{segments: map[int64]core.Segment{}}
		m.items[at] = it
	}
	it.index = m.inIndex(it.index, h.Due)
	it.head = h
	return m.read(h)
}

// inIndex adds what the index says of an item from now on.
func (m *Memory) inIndex(index []indexed, due int64) []indexed {
	n := len(index)
	if n > 0 && index[n-1].due == due {
		return index
	}
	index = append(index, indexed{m.now(), due})
	if n > 8 {
		index = slices.Delete(index, 0, 4)
	}
	return index
}

// read is a copy of a head that its reader may change.
func (m *Memory) read(h core.Head) core.Head {
	if m.Written {
		h = rewritten(h)
	}
	return h.Clone()
}

func rewritten[T any](v T) (read T) {
	if err := json.Unmarshal(core.Encode(v), &read); err != nil {
		panic(fmt.Sprintf("sim: what was stored cannot be read: %v", err))
	}
	return read
}

func (m *Memory) head(tenant, thread string) (core.Head, bool) {
	it := m.items[place{tenant, thread}]
	if it == nil {
		return core.Head{}, false
	}
	return it.head.Clone(), true
}

// Claim implements [engine.Store].
func (m *Memory) Claim(_ context.Context, req engine.ClaimRequest) (core.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, ok := m.head(req.Tenant, req.Thread)
	switch {
	case !ok:
		return core.Head{}, engine.ErrRefused
	case !h.Claimable(req.Now, req.Claim):
		if h.Claim == req.Claim && h.Lease != 0 {
			return m.read(h), nil
		}
		return m.read(h), engine.ErrRefused
	case h.Schema > req.Schema:
		return m.read(h), engine.ErrNewerSchema
	}
	h.Epoch, h.Rev, h.Tries = h.Epoch+1, h.Rev+1, h.Tries+1
	h.Lease, h.Claim, h.Due, h.Status = req.LeaseEnd, req.Claim, req.Due, core.RunRunning
	return m.put(h), nil
}

// PutSegment is the first half of a commit. [engine.ErrFenced] if a later put of the same number is
// there.
func (m *Memory) PutSegment(tenant, thread string, s core.Segment) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.putSegment(tenant, thread, s)
}

func (m *Memory) putSegment(tenant, thread string, s core.Segment) error {
	it := m.items[place{tenant, thread}]
	if it == nil {
		return engine.ErrFenced
	}
	old, there := it.segments[s.Seq]
	if there && old.W > s.W {
		return engine.ErrFenced
	}
	if !there || old.W < s.W {
		it.segments[s.Seq] = s
		m.putInFeed(tenant, thread, s)
	}
	return nil
}

// UpdateHead is the second half.
func (m *Memory) UpdateHead(req engine.CommitRequest) (engine.Written, error) {
	req.Segment = nil
	return m.Commit(context.Background(), req)
}

// Commit implements [engine.Store]: both halves at once.
func (m *Memory) Commit(_ context.Context, req engine.CommitRequest) (engine.Written, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := req.Check(); err != nil {
		return engine.Written{}, err
	}
	old, _ := m.head(req.Next.Tenant, req.Next.Thread)
	if err := fits(old, req); err != nil {
		if old.Epoch == req.Next.Epoch && old.CID == req.Next.CID && old.Rev == req.Next.Rev {
			err = nil // a repeat of what landed
		}
		return engine.Written{Head: m.read(old)}, err
	}
	if s := req.Segment; s != nil {
		if err := m.putSegment(req.Next.Tenant, req.Next.Thread, *s); err != nil {
			return engine.Written{}, err
		}
	}
	h := req.Next.Clone()
	h.Inbox, h.Sigs, h.Due, h.Claim = old.Inbox, old.Sigs, old.Due, old.Claim
	h.Votes = counted(old.Votes, req.Votes)
	for _, key := range req.Drained {
		delete(h.Inbox, key)
	}
	if req.Due != nil {
		h.Due = *req.Due
	}
	return engine.Written{Head: m.put(h)}, nil
}

// fits is the condition of a commit.
func fits(old core.Head, req engine.CommitRequest) error {
	switch {
	case old.Thread == "" || old.Epoch != req.Next.Epoch, old.Rev != req.Next.Rev-1:
		return engine.ErrFenced
	case req.AllSeen && old.Sigs != req.Seen:
		return engine.ErrSignals
	}
	return nil
}

// Start implements [engine.Store] and frontend.Store.
func (m *Memory) Start(_ context.Context, req engine.StartRequest) (engine.Written, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := req.Check(); err != nil {
		return engine.Written{}, err
	}
	if err := m.taken(req.Key); err != nil {
		return engine.Written{}, err
	}
	old, there := m.head(req.Head.Tenant, req.Head.Thread)
	if err := startable(old, there, req); err != nil {
		if req.Owned && old.Rev == req.Head.Rev && old.CID == req.Head.CID && old.Run == req.Head.Run {
			err = nil // a repeat of what landed
		}
		return engine.Written{Head: m.read(old)}, err
	}
	if req.Prior != nil {
		prior := *req.Prior
		prior.Status = core.RunDone
		m.archive[place{old.Tenant, old.Run}] = prior.Record()
	}
	m.use(req.Key)
	h := req.Head.Clone()
	h.Due = req.Due
	for key, s := range old.Inbox {
		h.Inbox[key] = s
	}
	return engine.Written{Head: m.put(h)}, nil
}

func startable(old core.Head, there bool, req engine.StartRequest) error {
	prior := req.Prior
	switch {
	case prior == nil && !there:
		return nil
	case prior == nil:
		return engine.ErrRefused
	case old.Schema > core.SchemaVersion:
		return engine.ErrNewerSchema
	case !req.Owned && (old.Rev != prior.Rev || old.Open()):
		return engine.ErrRefused
	case !req.Owned:
		return nil
	case old.Epoch != prior.Epoch || old.Rev != prior.Rev || old.End == nil || !old.Open():
		return engine.ErrFenced
	case old.Sigs != req.Seen:
		return engine.ErrSignals
	}
	return nil
}

// taken refuses a key that was used and has not expired.
func (m *Memory) taken(key *engine.Key) error {
	if key == nil {
		return nil
	}
	if used, ok := m.used(key.Tenant, key.Key); ok {
		return &engine.KeyTakenError{Key: used}
	}
	return nil
}

func (m *Memory) use(key *engine.Key) {
	if key != nil {
		m.keys[place{key.Tenant, key.Key}] = *key
	}
}

// Used implements frontend.Store.
func (m *Memory) Used(_ context.Context, tenant, key string) (engine.Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.used(tenant, key)
	if !ok {
		return engine.Key{}, engine.ErrNotFound
	}
	return k, nil
}

func (m *Memory) used(tenant, key string) (engine.Key, bool) {
	k, ok := m.keys[place{tenant, key}]
	return k, ok && (k.Expires == 0 || k.Expires > m.now())
}

// Signal implements frontend.Store.
func (m *Memory) Signal(_ context.Context, req engine.SignalRequest) (engine.Written, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.taken(req.Key); err != nil {
		return engine.Written{}, err
	}
	h, ok := m.head(req.Tenant, req.Thread)
	if !ok || !accepts(h, req) {
		return engine.Written{Head: m.read(h)}, engine.ErrRefused
	}
	m.use(req.Key)
	h.Inbox[req.InboxKey], h.Sigs, h.Due = req.Signal, h.Sigs+1, req.Due
	if v := req.Vote; v != nil {
		count(h.Votes, req.Suspension, v)
	}
	for _, one := range req.Together {
		h.Inbox[one.Suspension] = one.Signal
	}
	if req.Seen != nil {
		h.Schema = core.SchemaPacked
	}
	if req.Undoes != nil {
		delete(h.Inbox, req.Undoes.Suspension)
	}
	return engine.Written{Head: m.put(h)}, nil
}

func accepts(h core.Head, req engine.SignalRequest) bool {
	call := h.Calls[req.Call]
	_, there := h.Inbox[req.InboxKey]
	_, timed := h.TimedOut[req.Late]
	for _, one := range req.Together {
		_, there := h.Inbox[one.Suspension]
		if c := h.Calls[one.Call]; there || c.Status != core.CallSuspended || c.Sus != one.Suspension {
			return false
		}
	}
	return h.Run == req.Run && h.End == nil && !there &&
		(!req.NobodyWaits || h.Pending == 0) &&
		(req.MaxMessages == 0 || len(h.Inbox) < req.MaxMessages) &&
		(req.Suspension == "" || call.Status == core.CallSuspended && call.Sus == req.Suspension) &&
		(req.Late == "" || timed) &&
		(req.Seen == nil || h.Lease == 0 && h.Sigs == *req.Seen && h.Schema <= core.SchemaPacked) &&
		(req.Undoes == nil || isHeld(h, *req.Undoes)) &&
		(req.Vote == nil || takes(h.Votes[req.Suspension], req.Vote))
}

// Load implements [engine.Store] and frontend.Store.
func (m *Memory) Load(_ context.Context, tenant, thread string) (core.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, ok := m.head(tenant, thread)
	if !ok {
		return h, engine.ErrNotFound
	}
	return m.read(h), nil
}

// Segments implements [engine.Store] and frontend.Store.
func (m *Memory) Segments(_ context.Context, tenant, thread string, from, to int64) (found []core.Segment, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it := m.items[place{tenant, thread}]
	for seq := from; it != nil && seq <= to; seq++ {
		s, ok := it.segments[seq]
		if !ok {
			continue
		}
		if m.Written {
			s = rewritten(s)
		}
		found = append(found, s)
	}
	return found, nil
}

// PutPayload implements frontend.Store.
func (m *Memory) PutPayload(_ context.Context, tenant, thread, digest string, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := place{tenant, thread + "/" + digest}
	if _, there := m.payloads[at]; !there {
		m.payloads[at] = append([]byte{}, body...)
	}
	return nil
}

// Payload implements [engine.Store] and frontend.Store.
func (m *Memory) Payload(_ context.Context, tenant, thread, digest string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, ok := m.payloads[place{tenant, thread + "/" + digest}]
	if !ok {
		return nil, engine.ErrNotFound
	}
	return body, nil
}

// Archived implements frontend.Store.
func (m *Memory) Archived(_ context.Context, tenant, run string) (core.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.archive[place{tenant, run}]
	if !ok {
		return r, engine.ErrNotFound
	}
	return r, nil
}
