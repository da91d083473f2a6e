// Package hooks answers incoming webhooks: it verifies a delivery, and then starts a run, sends a
// message or decides, as the hook file says. It knows no HTTP.
//
// A delivery is acted on once. Nothing records deliveries apart from their effects: the event's
// name makes the idempotency key of the start or the message, or the id of the decision, and the
// store writes that key with the effect, in one conditional write. So there is no moment at which a
// crash loses an event or lets it act twice:
//
//	verify ── crash                        nothing stored; the sender repeats it, and it acts
//	verify ── act+key ── crash             the sender repeats it: the key is there, replayed
//	verify ── act+key ── answer lost       as above
//	verify ── act+key ─┐
//	verify ── act+key ─┴ two at once: one write has the key, the other is replayed
//	verify ── refused (429, 503, a run is open) ── no key; the sender repeats it, and it acts
//
// A separate record before the act would lose the event in a crash between the two, and one after
// the act adds nothing to the key.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// Source finds hooks.
type Source interface {
	// Hook is the deployed hook of this name, with its tenant. [engine.ErrNotFound] if there is
	// none; [ErrMistake] if its file is wrong; [engine.ErrUnavailable] if that isn't known
	// now.
	Hook(ctx context.Context, name string) (hookfile.Hook, error)
}

// ErrMistake: the hook file can't be used.
var ErrMistake = errors.New("hooks: the hook file has a mistake")

// Receiver receives webhooks. All fields but Slack are required. It is safe for concurrent use.
type Receiver struct {
	Frontend *frontend.Frontend
	Hooks    Source
	Secrets  secret.Source
	Clock    engine.Clock
	Slack    SlackApp // nil: hooks of Slack apps can't act
}

// Request is a webhook as it came.
type Request struct {
	Header func(name string) []string // the values of a header, in any case
	Body   []byte

	// Admit refuses what the tenant does too often: a decision, or anything that starts work.
	// It is asked once the sender is known and before anything is done. Nil admits all.
	Admit func(tenant string, kind pace.Kind) error
}

// Receive acts on a delivery of a hook. It looks at nothing in the body before the signature is
// verified, and answers every flaw of a signature alike. Every refusal is a [*refusal.Error]; a
// refused delivery had no effect, so its sender may repeat it, except where the code says more.
func (r *Receiver) Receive(ctx context.Context, name string, q Request) (wire.HookAnswer, error) {
	h, err := r.hook(ctx, name)
	if err != nil {
		return wire.HookAnswer{}, err
	}
	keys, err := r.keys(ctx, h)
	if err != nil {
		return wire.HookAnswer{}, err
	}
	id, err := signature.Verify(h.Verify.Scheme, q.one, q.Body, r.Clock.Now(), keys...)
	if err != nil {
		return wire.HookAnswer{}, refusal.New(refusal.CodeInvalidSignature, "the request is not signed with the secret of this hook, or not in the last five minutes; check the secret and the clock of the sender")
	}
	body, err := hookfile.ReadBody(q.Body)
	if err != nil {
		return wire.HookAnswer{}, unread(err)
	}
	if answer, is := h.Verify.Challenge(body); is {
		return answer, nil
	}
	if h.SlackApp != nil {
		return r.slackApp(ctx, h, body, q.Admit)
	}
	if unmet, ok := body.Unmet(h.When); !ok {
		return expected(h, wire.HookAnswer{Ignored: "the hook's condition on " + unmet.Argument + " doesn't hold"}), nil
	}
	act, err := h.Map(hookfile.Delivery{Name: id, Header: q.one, Body: body})
	if err != nil {
		return wire.HookAnswer{}, refusal.New(refusal.CodeHookMismatch, "%v; nothing was done", err)
	}
	if q.Admit != nil {
		if err := q.Admit(h.Tenant, kindOf(act)); err != nil {
			return wire.HookAnswer{}, err
		}
	}
	answer, err := r.act(ctx, h, act)
	return expected(h, answer), err
}

func kindOf(act hookfile.Act) pace.Kind {
	if act.Decision != nil {
		return pace.Decisions
	}
	return pace.Starts
}

// accepts is the type of Discord's answer to an interaction with which nothing is shown.
const accepts = 6

// expected is an answer in the form that its sender expects.
func expected(h hookfile.Hook, answer wire.HookAnswer) wire.HookAnswer {
	switch h.Verify.Scheme {
	case signature.Slack:
		return wire.HookAnswer{}
	case signature.Ed25519:
		answer.Type = accepts
	}
	return answer
}

// one is a header that is there once; "" for any other, so that no two readers see different ones.
func (q Request) one(name string) string {
	if values := q.Header(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

func (r *Receiver) hook(ctx context.Context, name string) (h hookfile.Hook, err error) {
	err = engine.ErrNotFound
	if hookfile.NameForm.MatchString(name) {
		h, err = r.Hooks.Hook(ctx, name)
	}
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return h, refusal.New(refusal.CodeHookNotFound, "no hook with this name is deployed; check the address")
	case errors.Is(err, ErrMistake):
		return h, notReady(fmt.Errorf("hook %s: %w", name, err))
	case errors.Is(err, engine.ErrUnavailable):
		return h, refusal.Storage(err)
	}
	return h, err
}

// pause is the Retry-After of a hook that can't verify anything now.
const pause = 30 * time.Second

// keys are those that a delivery may be signed with: two while they are changed.
func (r *Receiver) keys(ctx context.Context, h hookfile.Hook) (keys [][]byte, err error) {
	text := h.Verify.PublicKey
	if h.Verify.Secret != "" {
		if text, err = r.Secrets(ctx, h.Verify.Secret); err != nil {
			return nil, notKnown(h, err)
		}
	}
	if keys, err = signature.Keys(h.Verify.Scheme, text); err != nil {
		return nil, notKnown(h, err)
	}
	return keys, nil
}

func notKnown(h hookfile.Hook, cause error) error {
	return notReady(fmt.Errorf("hook %s: secret %s: %w", h.Name, h.Verify.Secret, cause))
}

// notReady refuses a delivery that can't be verified now. Why is for the operator, in the log, and
// not for everyone who knows the address.
func notReady(cause error) error {
	e := refusal.Because(cause, refusal.CodeHookUnavailable, "the hook can't verify deliveries now, because its file or its secret is missing something; ask the operator to read the server's log")
	e.RetryAfter = pause
	return e
}

func unread(err error) error {
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		return &refusal.Error{Code: refusal.Code(e.Code), Detail: e.Detail}
	}
	return err
}
