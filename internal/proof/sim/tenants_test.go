package sim_test

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/links"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// neighbourhood is a second tenant on the same store, queue, frontend and workers. Its agents,
// principals, keys and texts have the names that those of the first tenant have.
type neighbourhood struct {
	people people
	twin   bool // its thread has the id of the first tenant's, and so have its runs
}

// tenants are the stages that share a world.
func (s *stage) tenants() []*stage {
	if s.next == nil {
		return []*stage{s}
	}
	return []*stage{s, s.next}
}

func (s *stage) stageOf(tenant string) *stage {
	for _, of := range s.first.tenants() {
		if of.tenant == tenant {
			return of
		}
	}
	return nil
}

// settleNextDoor makes the stage of the second tenant. It has a plan of its own, which is small,
// and everything that is not of one tenant in common with the first.
func (s *stage) settleNextDoor() {
	n := s.plan.neighbour
	if n == nil {
		return
	}
	p := s.plan
	p.people, p.threads, p.runs, p.rivals, p.acts = n.people, 1, min(p.runs, 2), min(p.rivals, 1), 1
	p.turns, p.calls = min(p.turns, 2), min(p.calls, 2)
	s.next = &stage{seed: s.seed ^ 0x5eed_0000, plan: p, tenant: "u", first: s, w: s.w, faults: s.faults, db: s.db, table: s.table, bell: s.bell,
		final: map[int][]core.Message{}, outside: map[string]bool{}, met: map[string]int{}, reads: s.reads}
}

type tenantKey struct{}

// inTenant says on whose behalf everything is done under the context.
func inTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// mine demands that a request to the store is about the tenant in whose name it is made.
func (w *watched) mine(ctx context.Context, what, tenant string) {
	if of, known := ctx.Value(tenantKey{}).(string); known && of != tenant || w.s.tenant != tenant {
		w.s.wrong("tenants: a request of tenant %q reached %s of tenant %q", of, what, tenant)
	}
}

func (w *watched) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	w.mine(ctx, thread, tenant)
	return w.FullStore.Load(ctx, tenant, thread)
}

func (w *watched) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	w.mine(ctx, "the journal of "+thread, tenant)
	return w.FullStore.Segments(ctx, tenant, thread, from, to)
}

func (w *watched) Payload(ctx context.Context, tenant, thread, digest string) ([]byte, error) {
	w.mine(ctx, "a payload", tenant)
	return w.FullStore.Payload(ctx, tenant, thread, digest)
}

func (w *watched) PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error {
	w.mine(ctx, "a payload", tenant)
	return w.FullStore.PutPayload(ctx, tenant, thread, digest, body)
}

func (w *watched) Used(ctx context.Context, tenant, key string) (engine.Key, error) {
	w.mine(ctx, "a key", tenant)
	return w.FullStore.Used(ctx, tenant, key)
}

func (w *watched) Archived(ctx context.Context, tenant, run string) (core.Record, error) {
	w.mine(ctx, run, tenant)
	return w.FullStore.Archived(ctx, tenant, run)
}

func (w *watched) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	w.mine(ctx, "the list of runs", tenant)
	return w.FullStore.Runs(ctx, tenant, thread, cursor, limit)
}

func (w *watched) Approvals(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error) {
	w.mine(ctx, "the list of what waits", tenant)
	return w.FullStore.Approvals(ctx, tenant, cursor, limit)
}

func (w *watched) Feed(ctx context.Context, tenant string, q engine.FeedQuery) ([]engine.FeedEntry, error) {
	w.mine(ctx, "the feed", tenant)
	return w.FullStore.Feed(ctx, tenant, q)
}

// storeOfAll is the store of both tenants: each request goes to the tenant that it names, where it
// is watched.
type storeOfAll struct {
	sim.FullStore // for the sweep, which is nobody's
	s             *stage
	of            map[string]sim.FullStore
}

func (a storeOfAll) at(tenant string) sim.FullStore {
	if of, known := a.of[tenant]; known {
		return of
	}
	a.s.wrong("tenants: there is no tenant %q", tenant)
	return a.FullStore
}

func (a storeOfAll) HandOver(ctx context.Context, req engine.HandOver) (bool, error) {
	return a.at(req.Tenant).HandOver(ctx, req)
}

func (a storeOfAll) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	return a.at(req.Tenant).Claim(ctx, req)
}

func (a storeOfAll) took(ctx context.Context, req engine.ClaimRequest, t engine.Taken) {
	a.at(req.Tenant).(onlooker).took(ctx, req, t)
}

func (a storeOfAll) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	return a.at(req.Next.Tenant).Commit(ctx, req)
}

func (a storeOfAll) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	return a.at(req.Head.Tenant).Start(ctx, req)
}

func (a storeOfAll) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	return a.at(req.Tenant).Signal(ctx, req)
}

func (a storeOfAll) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	return a.at(tenant).Load(ctx, tenant, thread)
}

func (a storeOfAll) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	return a.at(tenant).Segments(ctx, tenant, thread, from, to)
}

func (a storeOfAll) Payload(ctx context.Context, tenant, thread, digest string) ([]byte, error) {
	return a.at(tenant).Payload(ctx, tenant, thread, digest)
}

func (a storeOfAll) PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error {
	return a.at(tenant).PutPayload(ctx, tenant, thread, digest, body)
}

func (a storeOfAll) Used(ctx context.Context, tenant, key string) (engine.Key, error) {
	return a.at(tenant).Used(ctx, tenant, key)
}

func (a storeOfAll) Archived(ctx context.Context, tenant, run string) (core.Record, error) {
	return a.at(tenant).Archived(ctx, tenant, run)
}

func (a storeOfAll) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	return a.at(tenant).Runs(ctx, tenant, thread, cursor, limit)
}

func (a storeOfAll) Approvals(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error) {
	return a.at(tenant).Approvals(ctx, tenant, cursor, limit)
}

func (a storeOfAll) Feed(ctx context.Context, tenant string, q engine.FeedQuery) ([]engine.FeedEntry, error) {
	return a.at(tenant).Feed(ctx, tenant, q)
}

// halvesOfAll is storeOfAll where commits are two writes and the sweep moves one entry after the
// other.
type halvesOfAll struct {
	storeOfAll
	m *sim.Memory
}

type twoWrites interface {
	PutSegment(tenant, thread string, s core.Segment) error
	UpdateHead(req engine.CommitRequest) (engine.Written, error)
	Move(e sim.Entry, next int64) (won bool)
}

func (a halvesOfAll) PutSegment(tenant, thread string, s core.Segment) error {
	return a.at(tenant).(twoWrites).PutSegment(tenant, thread, s)
}

func (a halvesOfAll) UpdateHead(req engine.CommitRequest) (engine.Written, error) {
	return a.at(req.Next.Tenant).(twoWrites).UpdateHead(req)
}

func (a halvesOfAll) DueBefore(now int64, limit int) []sim.Entry { return a.m.DueBefore(now, limit) }

func (a halvesOfAll) Move(e sim.Entry, next int64) bool {
	return a.at(e.Tenant).(twoWrites).Move(e, next)
}

var _ sim.LineParts = halvesOfAll{}

func (a halvesOfAll) PutRecord(r notice.Record)                { a.m.PutRecord(r) }
func (a halvesOfAll) AddEntry(req engine.HandOver) notice.Line { return a.m.AddEntry(req) }
func (a halvesOfAll) LineBound() notice.Bound                  { return a.m.Bound }

func (a halvesOfAll) RemoveEntries(k notice.Key, of []notice.Record, adds int64) notice.Line {
	return a.m.RemoveEntries(k, of, adds)
}

// store is what workers, callers and the sweep of all tenants have.
func (s *stage) store() sim.FullStore {
	all := storeOfAll{s.db, s, map[string]sim.FullStore{}}
	if s.table != nil {
		all.FullStore = s.table
	}
	m, inMemory := s.db.(*sim.Memory)
	for _, of := range s.tenants() {
		switch {
		case inMemory && s.flaw != nil:
			all.of[of.tenant] = s.flaw(&halved{of.watched, m})
		case inMemory:
			all.of[of.tenant] = &halved{of.watched, m}
		default:
			all.of[of.tenant] = of.watched
		}
	}
	if inMemory {
		return halvesOfAll{all, m}
	}
	return all
}

// casts are the agents of all tenants, as the engine and the frontend reach them.
type casts struct{ s *stage }

func (a casts) of(tenant string) *cast { return a.s.stageOf(tenant).cast }

func (a casts) Load(ctx context.Context, pin engine.Pin) (engine.Agent, error) {
	return a.of(pin.Tenant).Load(ctx, pin)
}

func (a casts) Newest(ctx context.Context, tenant, name string) (string, error) {
	return a.of(tenant).Newest(ctx, tenant, name)
}

func (a casts) Current(ctx context.Context, tenant, name string) (engine.Definition, error) {
	return a.of(tenant).Current(ctx, tenant, name)
}

func (a casts) Deployed(ctx context.Context, tenant string) ([]engine.Definition, error) {
	return a.of(tenant).Deployed(ctx, tenant)
}

func (a casts) ShouldYield(ctx context.Context, run engine.RunRef) bool {
	return control{a.s.stageOf(run.Tenant)}.ShouldYield(ctx, run)
}

func (a casts) IsCancelled(ctx context.Context, run engine.RunRef) bool {
	return control{a.s.stageOf(run.Tenant)}.IsCancelled(ctx, run)
}

// luck lets the next thread without a key have the id that a thread of the other tenant has.
type luck struct {
	*sim.World
	base string
}

func (l *luck) Text(n int) string {
	if n == len(l.base) {
		text := l.base
		l.base = ""
		return text
	}
	return l.World.Text(n)
}

// other is the stage of the other tenant, if there is one.
func (s *stage) other() *stage {
	if s.first != s {
		return s.first
	}
	return s.next
}

// beginTwin starts the thread of the second tenant under the id that the first tenant's has.
func (t *thread) beginTwin(ctx context.Context, req wire.StartRequest) (frontend.Started, error) {
	first := t.s.first.threads[0]
	for range 100 {
		if first.id != "" {
			break
		}
		_ = t.s.w.Sleep(ctx, 200*time.Millisecond)
	}
	return persist(ctx, t.s, func(ctx context.Context) (frontend.Started, error) {
		t.s.first.luck.base = strings.TrimPrefix(first.id, core.ThreadID(""))
		t.s.faults.Counts["twins"]++
		return t.starting(ctx, "", req)
	})
}

// trespass tries what is the other tenant's, in the name of a caller of this one.
func (t *thread) trespass(ctx context.Context) {
	o := t.s.other()
	if o == nil || len(o.threads) == 0 || len(o.threads[0].runs) == 0 {
		return
	}
	victim := o.threads[0]
	run := victim.runs[t.pick(len(victim.runs))]
	var p wire.Pending
	if len(victim.seen) > 0 {
		p = victim.seen[len(victim.seen)-1-min(t.pick(len(victim.seen)), t.pick(len(victim.seen)))]
	}
	t.s.faults.Counts["trespasses"]++
	// a run of one's own has the same id: what waits there has another
	if t.s.watched.runs[run] {
		if p.Suspension.ID != "" {
			t.decide(ctx, t.someone(), run, wire.Decision{Target: p.Suspension.ID, DecisionID: "trespass " + t.s.w.Text(6), Action: "resume"})
		}
		return
	}
	t.intrude(ctx, victim.id, run, p)
}

// intrude sends one request about a run of the other tenant. It must be told what it would be told
// of a run that never was.
func (t *thread) intrude(ctx context.Context, thread, run string, p wire.Pending) {
	who, f := t.someone(), t.s.front
	text, target := "intruding "+t.s.w.Text(6), cmp.Or(p.Suspension.ID, "c0")
	tries := []func(context.Context) error{
		func(ctx context.Context) error { _, err := f.Run(ctx, who, run); return err },
		func(ctx context.Context) error { _, err := f.Events(ctx, who, run, query.EventQuery{}); return err },
		func(ctx context.Context) error { _, err := f.Cancel(ctx, who, run); return err },
		func(ctx context.Context) error { _, err := f.Interrupt(ctx, who, run, text); return err },
		func(ctx context.Context) error {
			_, err := f.Resume(ctx, who, run, wire.ResumeRequest{DecisionID: text})
			return err
		},
		func(ctx context.Context) error { _, err := f.Retry(ctx, who, run, ""); return err },
		func(ctx context.Context) error {
			_, err := f.Decide(ctx, who, run, wire.Decision{Target: target, DecisionID: text, Action: "resume"})
			return err
		},
		func(ctx context.Context) error {
			_, err := f.MakeLink(ctx, who, run, links.LinkOrder{Target: target, For: "kim", Life: time.Hour})
			return err
		},
		func(ctx context.Context) error { _, err := f.Messages(ctx, who, thread, query.List{}); return err },
		func(ctx context.Context) error {
			_, err := f.Message(ctx, who, thread, text, wire.MessageRequest{Input: core.Encode(text), OnPending: "abandon"})
			return err
		},
		func(ctx context.Context) error {
			_, err := f.Start(ctx, who, text, wire.StartRequest{Agent: "agent-0", ThreadID: thread, Input: core.Encode(text)})
			return err
		},
	}
	n := t.pick(len(tries))
	_, err := once(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, tries[n](ctx) })
	t.s.w.Note("tries %s of another tenant: %v", run, err)
	if _, ours := t.s.watched.last[thread]; ours || temporary(err) {
		return
	}
	if c := code(err); c != refusal.CodeRunNotFound && c != refusal.CodeThreadNotFound {
		t.s.wrong("tenants: %q of tenant %q tried %s of another one, and was told %v", who.By, t.s.tenant, run, err)
	}
}

// browse reads the lists, in which there is nothing but what is the tenant's own.
func (t *thread) browse(ctx context.Context) {
	who := t.someone()
	runs, err := once(ctx, func(ctx context.Context) (wire.Page[wire.Run], error) {
		return t.s.front.Runs(ctx, who, query.List{})
	})
	for _, r := range runs.Items {
		if err == nil && !t.s.watched.runs[r.ID] {
			t.s.wrong("tenants: the runs of tenant %q are said to have %s among them", t.s.tenant, r.ID)
		}
	}
	waits, err := once(ctx, func(ctx context.Context) (wire.Page[wire.Approval], error) {
		return t.s.front.Approvals(ctx, who, query.List{})
	})
	for _, a := range waits.Items {
		if _, known := t.s.watched.kinds[a.Suspension.ID]; err == nil && a.Error == nil && !known {
			t.s.wrong("tenants: tenant %q is said to have %s of %s waiting", t.s.tenant, a.Suspension.ID, a.RunID)
		}
	}
}
