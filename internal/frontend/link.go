package frontend

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/holds"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// CanLink demands that the call waits for a person at this moment: for an approval, the answer to a
// tool's question, or the result of a call that a client runs. What became of a call and whether an
// interrupted run goes on is for callers with a token to say.
func (f *Frontend) CanLink(p journal.Place, call core.SuspendedCall) error {
	switch {
	case call.Kind != core.KindApproval && call.Kind != core.KindInput && call.Kind != core.KindClient:
		return refusal.New(refusal.CodeWrongKind, "a link can only answer calls of the kinds approval, input and client; answer this one with a token")
	case f.Passed(call):
		return refusal.New(refusal.CodeNotSuspended, "the call's deadline has passed, so a link can no longer answer it")
	case !awaits(p, call.CallID, call.Suspension.ID):
		return whyClosed(p, call.CallID, call.Suspension.ID)
	}
	return nil
}

// Passed says whether the deadline of a call is over, applied or not.
func (f *Frontend) Passed(call core.SuspendedCall) bool {
	return call.Deadline != 0 && call.Deadline <= f.Now()
}

// LinkRecord reads the record of a link whose signature is good. [refusal.CodeLinkNotFound] if it
// is not there.
func (f *Frontend) LinkRecord(ctx context.Context, tenant, run, id string) (engine.Link, error) {
	l, err := storecall.Try(ctx, f.Clock, func() (engine.Link, error) { return f.LinkStore.Link(ctx, tenant, run, id) })
	if errors.Is(err, engine.ErrNotFound) {
		return l, LinkNotFound()
	}
	return l, err
}

// LinkNotFound refuses the id of a link that was never made, or whose record has expired.
func LinkNotFound() *refusal.Error {
	return refusal.New(refusal.CodeLinkNotFound, "the run has no such link; check its id")
}

// ShowLink is a record as callers see it.
func ShowLink(l engine.Link) wire.Link {
	shown := wire.Link{ID: l.ID, RunID: l.Run, Suspension: l.Suspension, CallID: l.Call, Tool: l.Tool, For: l.For, Edit: l.Edit, Require: l.Require, CreatedBy: makerOf(l),
		CreatedAt: wire.Millis(l.Made), ExpiresAt: wire.Millis(l.Ends()), RevokedBy: l.RevokedBy}
	if l.Revoked > 0 {
		at := wire.Millis(l.Revoked)
		shown.RevokedAt = &at
	}
	return shown
}

// endpointMaker begins the maker of a link that was sent to an endpoint.
const endpointMaker = "endpoint:"

// makerOf is who made the link, as a decision by it is stored with.
func makerOf(l engine.Link) string {
	switch {
	case l.Endpoint != "":
		return endpointMaker + l.Endpoint
	case l.Maker == "":
		return ""
	}
	return "token:" + l.Maker
}

// LinkCaller is the caller who answers by a link: its recipient, as the maker named it.
func LinkCaller(l engine.Link) Caller {
	return Caller{Tenant: l.Tenant, By: "link:" + l.For, Via: core.ViaLink, Link: &l}
}

// SignedIn is the caller who answers by a link that asks for a token: the token's own.
func SignedIn(l engine.Link, p access.Principal) Caller {
	return Caller{Tenant: p.Tenant, By: p.By(), Via: core.ViaLink, Roles: p.Roles, Claims: p.Claims, Link: &l}
}

// Account is the caller who answers by a link that asks for a sign-in: the person who has signed
// in. Any account of the provider may, so that a role makes none of them an approver.
func Account(l engine.Link, p access.Principal) Caller {
	c := SignedIn(l, p)
	c.Roles = nil
	return c
}

// CanEdit demands that a decision may change the arguments of a call.
func CanEdit(call core.SuspendedCall) error {
	if call.Kind != core.KindApproval || call.ResumeMode == core.UseDecisionAsToolResult {
		return refusal.New(refusal.CodeWrongKind, "the arguments of this call can't be edited; omit edit")
	}
	return nil
}

// DecideByLink answers the suspension of the caller's link, once: the link is the name of the
// decision, so the same answer again is the same decision, and another answer, or another link, is
// another one. After a withdrawal, d.DecisionID tells the answer from those before; see
// [holds.ByLink].
func (f *Frontend) DecideByLink(ctx context.Context, c Caller, d wire.Decision) (wire.DecisionAnswer, error) {
	d.Target, d.DecisionID = c.Link.Suspension, holds.ByLink(*c.Link, c.By, d.DecisionID)
	switch {
	case !core.IsNull(d.Arguments) && !c.Link.Edit:
		return wire.DecisionAnswer{}, refusal.New(refusal.CodeWrongKind, "this link can't edit arguments; omit arguments, or ask for a link that can")
	case c.Link.Require == engine.RequireCode && c.Verified != core.VerifiedByCode:
		return wire.DecisionAnswer{}, refusal.New(refusal.CodeNotAnApprover, "this link is answered with a one-time code")
	case c.Link.Require == engine.RequireToken && c.By == LinkCaller(*c.Link).By:
		return wire.DecisionAnswer{}, refusal.New(refusal.CodeNotAnApprover, "this link is answered with an access token")
	case c.Link.Require == engine.RequireSignIn && c.By == LinkCaller(*c.Link).By:
		return wire.DecisionAnswer{}, refusal.New(refusal.CodeNotAnApprover, "this link is answered by a person who has signed in")
	case c.Link.Require == engine.RequireCode && d.Hold > 0:
		return wire.DecisionAnswer{}, refusal.New(refusal.CodeHoldUnavailable, "an answer with a one-time code can't be held; send it without hold")
	}
	return f.Decide(ctx, c, c.Link.Run, d)
}

// Verified is the caller who answers by a link that asks for a one-time code, and has sent it.
func Verified(l engine.Link) Caller {
	c := LinkCaller(l)
	c.Verified = core.VerifiedByCode
	return c
}

// noLinks is the store where no links can be made.
type noLinks struct{}

func (noLinks) PutLink(context.Context, engine.Link) error { return engine.ErrNotFound }

func (noLinks) Link(context.Context, string, string, string) (engine.Link, error) {
	return engine.Link{}, engine.ErrNotFound
}

func (noLinks) Links(context.Context, string, string) ([]engine.Link, error) { return nil, nil }

func (noLinks) RevokeLink(context.Context, string, string, string, int64, string) (engine.Link, error) {
	return engine.Link{}, engine.ErrNotFound
}

func (noLinks) SwapLinkCode(context.Context, string, string, string, string, string) (bool, error) {
	return false, engine.ErrNotFound
}
