package hooks

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// act does what a verified delivery asks for. Doing it again changes nothing.
func (r *Receiver) act(ctx context.Context, h hookfile.Hook, a hookfile.Act) (wire.HookAnswer, error) {
	key := frontend.HookKeys + h.Name + ":" + a.ID
	c := frontend.Caller{Tenant: h.Tenant, By: h.Principal(a.By), Via: frontend.ViaHook}
	switch {
	case a.Start != nil:
		return started(r.Frontend.Start(ctx, c, key, *a.Start))
	case a.Message != nil:
		return r.message(ctx, h, c, key, *a.Message)
	}
	return r.decide(ctx, h, c, key, *a.Decision)
}

// started is the answer to a start or a message. A key that was used with other content is that of
// the same event: the hook file has changed since, or the sender gave more details.
func started(s frontend.Started, err error) (wire.HookAnswer, error) {
	if e, ok := errors.AsType[*refusal.Error](err); ok && e.Code == refusal.CodeIdempotencyMismatch {
		return wire.HookAnswer{Replayed: true}, nil
	}
	return wire.HookAnswer{RunID: s.Run.ID, Replayed: !s.New}, err
}

func (r *Receiver) message(ctx context.Context, h hookfile.Hook, c frontend.Caller, key string, m hookfile.MessageAct) (wire.HookAnswer, error) {
	thread := m.Thread
	if m.ThreadKey != "" {
		thread = frontend.KeyedThread(c.Tenant, m.ThreadKey)
	}
	head, err := r.Frontend.LoadThread(ctx, c.Tenant, thread)
	if e, ok := errors.AsType[*refusal.Error](err); ok && e.Code == refusal.CodeThreadNotFound || err == nil && !h.Reaches(head.Agent) {
		return wire.HookAnswer{}, refusal.New(refusal.CodeThreadNotFound, "there is no such thread of an agent that the hook may reach")
	}
	if err != nil {
		return wire.HookAnswer{}, err
	}
	return started(r.Frontend.Message(ctx, c, thread, key, m.Request))
}

// decide stores a decision under an id that is made of the event's, so that a repeat is the same
// decision. A suspension of another tenant, or of an agent that the hook may not reach, doesn't
// exist for it.
func (r *Receiver) decide(ctx context.Context, h hookfile.Hook, c frontend.Caller, id string, d wire.Decision) (wire.HookAnswer, error) {
	d.DecisionID = id
	p, err := r.reached(ctx, h, c.Tenant, d.Target)
	if err != nil {
		return wire.HookAnswer{}, err
	}
	answer, err := r.Frontend.Decide(ctx, c, p.Record.Run, d)
	if e, ok := errors.AsType[*refusal.Error](err); ok && e.Winner != nil {
		// it is of this event, by an earlier version of the hook file
		if e.Winner.DecisionID == id && e.Winner.By == c.By {
			return wire.HookAnswer{DecisionID: id, Replayed: true}, nil
		}
		if h.SlackApp == nil {
			e.Winner = nil // who decided what is not for a sender of webhooks
		}
	}
	if err != nil {
		return wire.HookAnswer{}, err
	}
	return wire.HookAnswer{DecisionID: id, Replayed: answer.Same != nil && *answer.Same}, nil
}

// reached is the place of a suspension that the hook may answer.
func (r *Receiver) reached(ctx context.Context, h hookfile.Hook, tenant, suspension string) (journal.Place, error) {
	p, err := r.Frontend.SuspensionPlace(ctx, tenant, suspension)
	if e, ok := errors.AsType[*refusal.Error](err); ok && e.Code == refusal.CodeCallNotFound || err == nil && !h.Reaches(p.Record.Agent) {
		return p, refusal.New(refusal.CodeCallNotFound, "there is no suspension with this id that the hook may answer")
	}
	return p, err
}
