package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// mischief is what a story does to one request: a copy of it lands again, or its sender stands
// still.
type mischief struct {
	said   string
	sort   mischiefSort
	of     string                         // the sort of request
	nth    int                            // 0: by what is in it
	holds  func(req any) bool             // what is in it
	stands time.Duration                  // of those that stand still
	lands  func(*performance) func() bool // when the copy does
}

type mischiefSort int

const (
	lateCopy mischiefSort = iota
	standsBefore
	standsAfter
)

var (
	numbered = regexp.MustCompile(`^the (\w+) (commit|claim|segment|message|decision|cancel|start|result|interrupt|resume)$`)
	holding  = regexp.MustCompile(`^the commit that (begins|asks about|has the result of|uses the deadline of|reminds of|ends the run)(?: ([a-z]+))?$`)
)

func readMischief(what, how string, sort mischiefSort) (change, error) {
	m := mischief{said: what + ", " + how, sort: sort}
	if n := numbered.FindStringSubmatch(what); n != nil {
		m.of, m.nth = n[2], ordinal(n[1])
		if kind, other := map[string]core.SignalKind{"result": core.SignalChild, "resume": core.SignalContinue}[m.of]; other {
			m.of = string(kind)
		}
	} else if c := holding.FindStringSubmatch(what); c != nil {
		m.of, m.holds = "commit", func(req any) bool { return holdsEvent(req.(engine.CommitRequest), c[1], c[2]) }
	}
	if m.nth == 0 && m.holds == nil {
		return nil, fmt.Errorf("no request: %q", what)
	}
	var err error
	if m.stands = readDuration(how); sort == lateCopy {
		m.lands, err = landings.find(how)
	}
	return func(s *setting) error { s.mischief = append(s.mischief, m); return nil }, err
}

// holdsEvent says whether a commit is the one that a story means.
func holdsEvent(req engine.CommitRequest, what, tool string) bool {
	if what == "ends the run" {
		return req.Next.End != nil
	}
	if req.Segment == nil {
		return false
	}
	types := map[string][]core.EventType{"begins": {core.EventCallStarted}, "asks about": {core.EventCallSuspended},
		"has the result of": {core.EventCallSucceeded, core.EventCallFailed, core.EventCallCancelled},
		"reminds of":        {core.EventCallReminded}, "uses the deadline of": {core.EventCallFailed, core.EventCallCancelled}}[what]
	return slices.ContainsFunc(req.Segment.Events, func(e core.Event) bool {
		var of struct {
			Tool string `json:"tool_name"`
		}
		return slices.Contains(types, e.Type) && json.Unmarshal(e.Data, &of) == nil && of.Tool == tool
	})
}

// landings are when copies land: each looks at how things are when the request is sent, and then
// says whether it is time.
var landings = speak([]sentence[func(*performance) func() bool]{
	{`{time} later`, func(args []string) (func(*performance) func() bool, error) {
		return func(p *performance) func() bool {
			at := p.w.Now().Add(readDuration(args[0]))
			p.w.AfterFunc(readDuration(args[0]), p.change)
			return func() bool { return !p.w.Now().Before(at) }
		}, nil
	}},
	{`after a decision is stored`, landing(func(was, is core.Head) bool { return is.Sigs > was.Sigs })},
	{`after the run waits`, landing(func(_, is core.Head) bool { return is.Status == core.RunWaiting })},
	{`after the run waits again`, landing(func(was, is core.Head) bool { return is.Status == core.RunWaiting && is.Epoch > was.Epoch })},
	{`after the run is given up`, landing(func(_, is core.Head) bool { return is.Status == core.RunRunning && is.Lease == 0 })},
	{`after the run is claimed again`, landing(func(was, is core.Head) bool { return is.Epoch > was.Epoch })},
	{`after the run is done`, landing(func(_, is core.Head) bool { return is.Status == core.RunDone })},
	{`after the next run has begun`, landing(func(was, is core.Head) bool { return is.Run != was.Run && is.Seq > was.Seq })},
	{`after it was taken up`, landing(func(was, is core.Head) bool { return is.Sigs > was.Sigs && len(is.Inbox) == 0 })},
})

func landing(due func(was, is core.Head) bool) func([]string) (func(*performance) func() bool, error) {
	return func([]string) (func(*performance) func() bool, error) {
		return func(p *performance) func() bool {
			was := p.head()
			return func() bool { return due(was, p.head()) }
		}, nil
	}
}

// meets says what the story does to a request. Each of its mischiefs happens once.
func (p *performance) meets(of string, req any) (met []mischief) {
	p.done[of]++
	for _, m := range p.setting.mischief {
		if m.of == of && p.done[m.said] == 0 && (m.nth == p.done[of] || m.holds != nil && m.holds(req)) {
			p.done[m.said]++
			met = append(met, m)
		}
	}
	return met
}

// around does a request with everything that the story does to it.
func around[T any](ctx context.Context, t *tampered, of string, req any, again func(), do func() (T, error)) (T, error) {
	t.of.mustLive()
	met := t.p.meets(of, req)
	for _, m := range met {
		switch m.sort {
		case standsBefore:
			t.stand(ctx, m)
		case lateCopy:
			t.copyOf(ctx, m, again)
		}
	}
	v, err := do()
	for _, m := range met {
		if m.sort == standsAfter {
			t.stand(ctx, m)
		}
	}
	return v, err
}

func (t *tampered) stand(ctx context.Context, m mischief) {
	t.p.w.Note("stands still for %s", m.stands)
	t.p.done["stands still"]++
	t.p.change()
	_ = t.p.w.Sleep(ctx, m.stands)
}

func (t *tampered) copyOf(ctx context.Context, m mischief, again func()) {
	due := m.lands(t.p)
	t.p.w.Daemon(context.WithoutCancel(ctx), "a late copy of "+m.said, func(context.Context) {
		if t.p.until(patience, due) {
			t.p.w.Note("lands")
			t.p.done["landed"]++
			again()
		}
	})
}

// tampered is the store as one process reaches it: behind the story's mischief, then the faults,
// then the witness.
type tampered struct {
	sim.Store
	p  *performance
	of *process // nil: of a caller, who has none
}

func (t *tampered) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	again := func() { _, _ = t.p.witness.Claim(ctx, req) }
	return around(ctx, t, "claim", req, again, func() (core.Head, error) { return t.Store.Claim(ctx, req) })
}

func (t *tampered) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	w := t.p.witness
	segment := func() {
		if req.Segment != nil {
			_ = w.PutSegment(req.Next.Tenant, req.Next.Thread, *req.Segment)
		}
	}
	both := func() { segment(); _, _ = w.UpdateHead(req) }
	commit := func() (engine.Written, error) {
		return around(ctx, t, "commit", req, both, func() (engine.Written, error) { return t.Store.Commit(ctx, req) })
	}
	if req.Segment == nil {
		return commit()
	}
	return around(ctx, t, "segment", req, segment, commit)
}

func (t *tampered) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	again := func() { _, _ = t.p.witness.Start(ctx, req) }
	return around(ctx, t, "start", req, again, func() (engine.Written, error) { return t.Store.Start(ctx, req) })
}

func (t *tampered) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	again := func() { _, _ = t.p.witness.Signal(ctx, req) }
	return around(ctx, t, string(req.Signal.Kind), req, again, func() (engine.Written, error) { return t.Store.Signal(ctx, req) })
}

func (t *tampered) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	t.of.mustLive()
	return t.Store.Load(ctx, tenant, thread)
}

func (t *tampered) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	t.of.mustLive()
	return t.Store.Segments(ctx, tenant, thread, from, to)
}

var _ frontend.Store = &tampered{}
