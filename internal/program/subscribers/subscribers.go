// Package subscribers knows who is notified of runs: the targets in the version of the agent, those
// that the start of the run names, and the webhooks of the tenant. It sends nothing.
package subscribers

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Definitions are the stored versions of agents.
type Definitions interface {
	// Newest returns the digest of the deployed version. [engine.ErrNotFound] if none is.
	Newest(ctx context.Context, tenant, name string) (digest string, err error)

	// Definition reads a version. [engine.ErrNotFound] if it is not there.
	Definition(ctx context.Context, tenant, name, digest string) (engine.Definition, error)
}

// Runs are the runs, and what is stored beside their threads.
type Runs interface {
	// Load reads a thread's head. [engine.ErrNotFound] if there is none.
	Load(ctx context.Context, tenant, thread string) (core.Head, error)

	// Archived is a run whose place in the head another has taken. [engine.ErrNotFound] if
	// there is none.
	Archived(ctx context.Context, tenant, run string) (core.Record, error)

	// Payload reads what was put under its digest. [engine.ErrNotFound] if it is not there.
	Payload(ctx context.Context, tenant, thread, digest string) ([]byte, error)
}

// Webhooks are the endpoints that tenants have added, and which endpoints are disabled, wherever
// their targets come from.
type Webhooks interface {
	// Webhooks are all of a tenant.
	Webhooks(ctx context.Context, tenant string) ([]notice.Webhook, error)

	// Webhook reads one. [engine.ErrNotFound] if it is not there.
	Webhook(ctx context.Context, tenant, id string) (notice.Webhook, error)

	// Disabled returns those of the endpoints that are disabled.
	Disabled(ctx context.Context, tenant string, endpoints []string) (map[string]notice.Disabled, error)

	// DisableEndpoint notes that an endpoint is disabled, until an operator enables it.
	DisableEndpoint(ctx context.Context, d notice.Disabled) (notice.Disabled, error)
}

// Pushes are the endpoints that clients of A2A have added to their tasks.
type Pushes interface {
	// Pushes reads those of a task. [engine.ErrNotFound] if it never had one.
	Pushes(ctx context.Context, tenant, group string) (notice.Pushes, error)
}

// Stale is how long, on AWS, a webhook that was added, changed, disabled or enabled may remain
// without effect on what older runs owe. A run that starts later knows of it. A delivery reads its
// target itself.
const Stale = 5 * time.Second

// Options configure [New]. All but Stale are required.
type Options struct {
	Definitions Definitions
	Runs        Runs
	Webhooks    Webhooks
	Pushes      Pushes
	Clock       engine.Clock
	Stale       time.Duration // how old webhooks may be; 0: they are read each time
}

// Subscribers implements [engine.Subscribers] and notify.Targets. It is safe for concurrent use.
type Subscribers struct {
	o Options

	versions cache[version, []notice.Target]
	starts   cache[start, []notice.Target]
	webhooks cache[string, []notice.Webhook] // by tenant
	disabled cache[endpoint, bool]
}

type (
	version  struct{ tenant, agent, digest string }
	start    struct{ tenant, thread, digest string }
	endpoint struct{ tenant, id string }
)

// New returns what finds subscribers in stores.
func New(o Options) *Subscribers {
	s := &Subscribers{o: o}
	s.webhooks.life, s.disabled.life = o.Stale, o.Stale
	return s
}

// Of implements [engine.Subscribers]. Beside what never changes, it reads the tenant's webhooks,
// and which of the subscribed endpoints are disabled, once in [Options.Stale]
// and once for each run that started since.
func (s *Subscribers) Of(ctx context.Context, h core.Head) ([]notice.Subscription, error) {
	var all []notice.Subscription
	add := func(t notice.Target, endpoint string) {
		all = append(all, notice.Subscription{Endpoint: endpoint, On: t.Wanted()})
	}
	ofAgent, err := s.ofVersion(ctx, version{h.Tenant, h.Agent, h.Version})
	if err != nil {
		return nil, err
	}
	for _, t := range ofAgent {
		add(t, notice.AgentEndpoint(h.Agent, t.Name))
	}
	ofRun, err := s.ofStart(ctx, start{h.Tenant, h.Thread, h.Notify})
	if err != nil {
		return nil, err
	}
	pushed, err := s.pushed(ctx, h, ofRun)
	if err != nil {
		return nil, err
	}
	all = append(all, pushed...)
	for _, t := range ofRun {
		if t.Format == notice.FormatA2A {
			continue
		}
		if h.Parent != nil {
			// the start was that of the root: a child's end is none of what it asked
			// for
			t.On = t.Wanted().WithoutEnds()
		}
		add(t, notice.RunEndpoint(h.Run, t.Name))
	}
	webhooks, err := s.webhooks.get(s.now(), s.after(h), h.Tenant, func() ([]notice.Webhook, error) { return s.o.Webhooks.Webhooks(ctx, h.Tenant) })
	if err != nil {
		return nil, err
	}
	for _, w := range webhooks {
		if w.Notified(h.Agent) {
			all = append(all, w.Subscription())
		}
	}
	return s.enabled(ctx, h, all)
}

// pushed are the endpoints of the task that the run is, or works for. They are read each time, and
// only for a run that was begun as a task.
func (s *Subscribers) pushed(ctx context.Context, h core.Head, ofRun []notice.Target) ([]notice.Subscription, error) {
	group := notice.PushGroup(ofRun)
	if group == "" {
		return nil, nil
	}
	p, err := s.o.Pushes.Pushes(ctx, h.Tenant, group)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	return p.Subscriptions(h.Parent != nil), err
}

func (s *Subscribers) now() time.Time { return s.o.Clock.Now() }

// after is when the webhooks of a run must have been read: one that was added before the run
// started has effect on it.
func (s *Subscribers) after(h core.Head) time.Time {
	if s.o.Stale == 0 {
		return s.now()
	}
	return time.UnixMilli(h.Born)
}

// ofVersion are the targets of a version. A version that is gone has none: its runs end soon.
func (s *Subscribers) ofVersion(ctx context.Context, v version) ([]notice.Target, error) {
	return s.versions.get(s.now(), time.Time{}, v, func() ([]notice.Target, error) {
		stored, err := s.o.Definitions.Definition(ctx, v.tenant, v.agent, v.digest)
		if errors.Is(err, engine.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		d, err := agent.Decode(stored.Body)
		return d.Notify, err
	})
}

// ofStart are the targets that a start names, which its payload has. A payload that is gone has
// none: the run does not fail for it.
func (s *Subscribers) ofStart(ctx context.Context, of start) (targets []notice.Target, err error) {
	if of.digest == "" {
		return nil, nil
	}
	targets, err = s.starts.get(s.now(), time.Time{}, of, func() ([]notice.Target, error) {
		body, err := s.o.Runs.Payload(ctx, of.tenant, of.thread, of.digest)
		if err != nil {
			return nil, err
		}
		var targets []notice.Target
		err = json.Unmarshal(body, &targets)
		return targets, err
	})
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	return targets, err
}

// enabled leaves out the disabled endpoints. It asks for those that it has not asked for lately.
func (s *Subscribers) enabled(ctx context.Context, h core.Head, all []notice.Subscription) ([]notice.Subscription, error) {
	tenant, now, after, off := h.Tenant, s.now(), s.after(h), map[string]bool{}
	var unknown []string
	for _, sub := range all {
		is, known := s.disabled.peek(now, after, endpoint{tenant, sub.Endpoint})
		if off[sub.Endpoint] = is; !known {
			unknown = append(unknown, sub.Endpoint)
		}
	}
	if len(unknown) > 0 {
		found, err := s.o.Webhooks.Disabled(ctx, tenant, unknown)
		if err != nil {
			return nil, err
		}
		for _, id := range unknown {
			_, off[id] = found[id]
			s.disabled.put(now, endpoint{tenant, id}, off[id])
		}
	}
	return slices.DeleteFunc(all, func(sub notice.Subscription) bool { return off[sub.Endpoint] }), nil
}
