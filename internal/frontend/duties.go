package frontend

import (
	"context"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// MayStart refuses a caller who is not among the starters of the agent, with
// [refusal.CodeNotAStarter].
func (f *Frontend) MayStart(ctx context.Context, c Caller, def engine.Definition) error {
	if f.starters == nil {
		return nil
	}
	starters, err := storecall.Try(ctx, f.Clock, func() ([]string, error) { return f.starters(ctx, def) })
	if err != nil || len(starters) == 0 || c.listed(starters) {
		return err
	}
	return refusal.New(refusal.CodeNotAStarter, "only the starters of %s may start runs and send messages, and %s is not one of them; "+
		"ask the agent's author to add it to starters", def.Name, c.name())
}

func (c Caller) listed(callers []string) bool {
	return slices.ContainsFunc(callers, c.is) || slices.ContainsFunc(c.behind(), func(by string) bool { return access.Listed(callers, by, nil) })
}

// is says whether an entry of a list of callers fits the caller.
func (c Caller) is(entry string) bool { return access.IsListed(entry, c.By, c.Roles, c.Claims) }

// behind is the maker of the link that the caller answers by. Lists of callers and separation of
// duties apply to the caller if they apply to the maker. A link that the server sent to an endpoint
// has none, and who reads what is sent there isn't known: its caller counts as one without a name.
func (c Caller) behind() []string {
	switch l := c.delegated(); {
	case l == nil:
		return nil
	case l.Endpoint != "":
		return []string{""}
	default:
		return []string{makerOf(*l)}
	}
}

// delegated is the link whose rights the caller uses; nil for a caller with rights of its own, who
// may have come by a link that asks for a token.
func (c Caller) delegated() *engine.Link {
	if c.Link == nil || c.Link.Require == engine.RequireToken || c.Link.Require == engine.RequireSignIn {
		return nil
	}
	return c.Link
}

// name is the caller as an error names it.
func (c Caller) name() string {
	if c.By == "" {
		return "a caller without a name"
	}
	return c.By
}

// askedForIt is what an asker has done; see [Frontend.askers].
const askedForIt = "started a run of this thread, sent it a message or answered its question"

// MayApprove refuses a caller who may not say that a call runs: one who is not among the approvers
// of the agent, with [refusal.CodeNotAnApprover], or, where the rule that asks bars who asked for
// the work, one of those, with [refusal.CodeSeparationOfDuties]. Every caller who may decide may
// deny.
func (f *Frontend) MayApprove(ctx context.Context, c Caller, p journal.Place, call core.SuspendedCall, d core.Resume) error {
	if d.Action != core.ActionResume || call.Kind != core.KindApproval && call.Kind != core.KindUnknownOutcome {
		return nil
	}
	if call.Counted() || call.NotBy == core.NotByStarter {
		if err := c.isKnown(call); err != nil {
			return err
		}
	}
	if call.Counted() && !c.voterOf(call).member {
		return notAMember(c, call)
	}
	if c.byWebhook() && !call.Counted() && !slices.Contains(call.Approvers, c.By) {
		return refusal.New(refusal.CodeNotAnApprover, "a link that was sent to a tenant's webhook can't approve %s; ask an approver with a token, or deny the call", call.Named())
	}
	if len(call.Approvers) > 0 && !call.Counted() && !c.listed(call.Approvers) {
		return refusal.New(refusal.CodeNotAnApprover, "only the agent's approvers may approve %s, and %s is not one of them; "+
			"ask one of them, or deny the call", call.Named(), c.name())
	}
	return f.notBarred(ctx, c, p, call)
}

// byWebhook says whether the caller answers by a link that was sent to a webhook of the tenant. Who
// may only manage webhooks must not approve: such a link does so only if the agent's file names it
// in full.
func (c Caller) byWebhook() bool {
	l := c.delegated()
	return l != nil && notice.OfTenant(l.Endpoint)
}

// notBarred refuses a caller whom the rule that asks bars from approving.
func (f *Frontend) notBarred(ctx context.Context, c Caller, p journal.Place, call core.SuspendedCall) error {
	if call.NotBy != core.NotByStarter {
		return nil
	}
	persons := append([]string{c.By}, c.behind()...)
	if slices.Contains(persons, "") {
		return refusal.New(refusal.CodeSeparationOfDuties, "%s must be approved by a caller other than its requester, but callers without "+
			"a token, and the links they create, have no name; use a token with another name", call.Named())
	}
	askers, err := f.askers(ctx, p)
	if err != nil {
		return err
	}
	if slices.Contains(askers, "") {
		return refusal.New(refusal.CodeSeparationOfDuties, "%s must be approved by a caller other than its requester, but a caller without a name %s; "+
			"start another thread with a token", call.Named(), askedForIt)
	}
	if err := c.askersKnown(call, askers); err != nil {
		return err
	}
	for _, by := range persons {
		person := oneOf(call.Policy, by)
		if by == c.By && c.byClaims(call.Policy) {
			person = c.known(call.Policy)
		}
		same := func(asker string) bool { return oneOf(call.Policy, asker) == person }
		if slices.ContainsFunc(askers, same) {
			return refusal.New(refusal.CodeSeparationOfDuties, "%s must be approved by a caller other than its requester, and %s %s; ask another approver, or deny the call", call.Named(), by, askedForIt)
		}
	}
	return nil
}
