package subscribers

import (
	"context"
	"errors"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/notify"
)

// Target returns the target of a notice as it is now. That of an agent is the one in the
// deployed version, so that a wrong address can be corrected while notices wait for it; without one
// there, it is the one in the version that the thread's newest run is pinned to.
// [notify.ErrNoTarget] if the endpoint is gone, [notify.ErrDisabled] if it is disabled,
// [notify.ErrNotAsked] if it is a webhook that doesn't ask for the notice: it may have been damaged
// when the notice was queued.
func (s *Subscribers) Target(ctx context.Context, n delivery.Notice) (notice.Target, error) {
	k := n.Key
	disabled, err := s.o.Webhooks.Disabled(ctx, k.Tenant, []string{k.Endpoint})
	if err != nil {
		return notice.Target{}, err
	}
	if _, is := disabled[k.Endpoint]; is {
		return notice.Target{}, notify.ErrDisabled
	}
	t, err := s.target(ctx, n)
	if errors.Is(err, engine.ErrNotFound) {
		err = notify.ErrNoTarget
	}
	return t, err
}

// Disable notes that an endpoint gets nothing until an operator enables it.
func (s *Subscribers) Disable(ctx context.Context, k notice.Key, reason string) error {
	_, err := s.o.Webhooks.DisableEndpoint(ctx, notice.Disabled{Tenant: k.Tenant, Endpoint: k.Endpoint, At: s.now().UnixMilli(), Reason: reason})
	if err == nil {
		s.disabled.put(s.now(), endpoint{k.Tenant, k.Endpoint}, true)
	}
	return err
}

// target is the target of an endpoint that is not disabled. [engine.ErrNotFound] if it is gone.
func (s *Subscribers) target(ctx context.Context, n delivery.Notice) (notice.Target, error) {
	k := n.Key
	e, _ := notice.ParseEndpoint(k.Endpoint)
	switch e.Source {
	case notice.SourceTenant:
		return s.targetOfTenant(ctx, n)
	case notice.SourceAgent:
		return s.targetOfAgent(ctx, k, e.Owner, e.Name)
	case notice.SourceRun:
		return s.targetOfRun(ctx, k, e.Owner, e.Name)
	case notice.SourcePush:
		return s.targetOfTask(ctx, k, e.Owner, e.Name)
	}
	return notice.Target{}, engine.ErrNotFound
}

// targetOfTenant is the target of a webhook. Which agent the notice is about is read only if that
// matters.
func (s *Subscribers) targetOfTenant(ctx context.Context, n delivery.Notice) (notice.Target, error) {
	w, err := s.o.Webhooks.Webhook(ctx, n.Tenant, n.Endpoint)
	if err != nil {
		return notice.Target{}, err
	}
	var head core.Head
	if len(w.Agents) > 0 {
		if head, err = s.o.Runs.Load(ctx, n.Tenant, n.Thread); err != nil {
			return notice.Target{}, err
		}
	}
	if _, asked := w.Takes(head.Agent, n.Event); !asked {
		return notice.Target{}, notify.ErrNotAsked
	}
	return w.Target, nil
}

func (s *Subscribers) targetOfAgent(ctx context.Context, k notice.Key, agent, name string) (notice.Target, error) {
	deployed, err := s.o.Definitions.Newest(ctx, k.Tenant, agent)
	switch {
	case errors.Is(err, engine.ErrNotFound):
	case err != nil:
		return notice.Target{}, err
	default:
		if t, err := named(name)(s.ofVersion(ctx, version{k.Tenant, agent, deployed})); !errors.Is(err, engine.ErrNotFound) {
			return t, err
		}
	}
	head, err := s.o.Runs.Load(ctx, k.Tenant, k.Thread)
	if err != nil {
		return notice.Target{}, err
	}
	if head.Agent != agent {
		return notice.Target{}, engine.ErrNotFound
	}
	return named(name)(s.ofVersion(ctx, version{k.Tenant, agent, head.Version}))
}

func (s *Subscribers) targetOfRun(ctx context.Context, k notice.Key, run, name string) (notice.Target, error) {
	head, err := s.o.Runs.Load(ctx, k.Tenant, k.Thread)
	if err != nil {
		return notice.Target{}, err
	}
	digest := head.Notify
	if head.Run != run {
		record, err := s.o.Runs.Archived(ctx, k.Tenant, run)
		if err != nil {
			return notice.Target{}, err
		}
		digest = record.Notify
	}
	return named(name)(s.ofStart(ctx, start{k.Tenant, k.Thread, digest}))
}

// errUnheard reports that the owner of a run has yet to read who is notified of it.
var errUnheard = errors.New("subscribers: the owner of the run has yet to hear of the endpoint")

// targetOfTask is the endpoint of a client of A2A. It is sent nothing while the owner of the run
// may not know it: what the owner commits until then would be left out of the first notice, and
// there might be no other.
func (s *Subscribers) targetOfTask(ctx context.Context, k notice.Key, group, id string) (notice.Target, error) {
	p, err := s.o.Pushes.Pushes(ctx, k.Tenant, group)
	if err != nil {
		return notice.Target{}, err
	}
	one, ok := p.Find(id)
	if !ok {
		return notice.Target{}, engine.ErrNotFound
	}
	head, err := s.o.Runs.Load(ctx, k.Tenant, k.Thread)
	if err != nil {
		return notice.Target{}, err
	}
	if notice.HasNews(head) && head.Lease != 0 {
		return notice.Target{}, errUnheard
	}
	return one.Target(), nil
}

// named finds a target by its name. [engine.ErrNotFound] if there is none.
func named(name string) func([]notice.Target, error) (notice.Target, error) {
	return func(targets []notice.Target, err error) (notice.Target, error) {
		if err != nil {
			return notice.Target{}, err
		}
		i := slices.IndexFunc(targets, func(t notice.Target) bool { return t.Name == name })
		if i < 0 {
			return notice.Target{}, engine.ErrNotFound
		}
		return targets[i], nil
	}
}
