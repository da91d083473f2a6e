package frontend

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// mayStart refuses a caller who is not among the starters of the agent, with
// [refusal.CodeNotAStarter].
func (f *Frontend) mayStart(ctx context.Context, c Caller, def engine.Definition) error {
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

// askers are all callers whose words the model goes by: who started or retried a run of the thread,
// sent it a message or answered what it asked. The model reads the whole thread, so earlier runs
// count, and so do the threads of all runs above, which have asked for this one. The names of
// callers without one are empty. It reads these journals, so it is for rules that need it.
func (f *Frontend) askers(ctx context.Context, p journal.Place) ([]string, error) {
	above, err := f.Family.Above(ctx, p)
	if err != nil {
		return nil, err
	}
	var a askers
	for _, one := range append([]journal.Place{p}, above...) {
		if err := f.askersOf(ctx, one.Head, &a); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// askersOf adds the askers of one thread. The words of a run above are its own callers'.
func (f *Frontend) askersOf(ctx context.Context, h core.Head, a *askers) error {
	questions := map[string]bool{}
	err := f.Segments(ctx, h.Tenant, h.Thread, 1, h.Seq, func(s core.Segment) bool {
		for _, e := range s.Events {
			a.event(e, questions, h.Parent != nil)
		}
		return true
	})
	a.inbox(h, questions)
	return err
}

// askers are names, each once.
type askers []string

func (a *askers) add(by string) {
	if !slices.Contains(*a, by) {
		*a = append(*a, by)
	}
}

// answered adds who answered a question, and who made the link if it was by one. Who opens a link
// that was sent to an endpoint isn't known, so that is a caller without a name too.
func (a *askers) answered(by, maker string) {
	if a.add(by); maker != "" {
		a.add(maker)
	}
	if strings.HasPrefix(maker, endpointMaker) {
		a.add("")
	}
}

// inbox adds those whose words the run has yet to take up. questions are the suspensions whose
// answers the model reads.
func (a *askers) inbox(h core.Head, questions map[string]bool) {
	for key, s := range h.Inbox {
		switch s.Kind {
		case core.SignalMessage, core.SignalStart:
			if h.Parent == nil {
				a.add(s.By)
			}
		case core.SignalDecision, core.SignalLate:
			if questions[strings.TrimPrefix(key, core.LateKey(""))] {
				a.answered(s.By, s.Mint)
			}
		}
	}
}

// event adds the callers whose words an event of the journal records, and adds to questions each
// suspension whose answer the model will read. A late answer counts as well, because the model
// reads it. A child is started by a run, and by no caller.
func (a *askers) event(e core.Event, questions map[string]bool, child bool) {
	switch e.Type {
	case core.EventRunStarted, core.EventMessageReceived, core.EventMessageQueued:
		if !child {
			a.add(byOf(e))
		}
	case core.EventCallSuspended:
		var s core.SuspendedCall
		if json.Unmarshal(e.Data, &s) == nil && isQuestion(s) {
			questions[s.Suspension.ID] = true
		}
	case core.EventDecisionRecorded:
		var d core.DecisionRecord
		if json.Unmarshal(e.Data, &d) == nil && questions[d.Suspension] && !d.TimedOut {
			a.answered(d.By, d.MintedBy)
		}
	}
}

// isQuestion reports whether a call waits for an answer that becomes its result. An approval whose
// rule bars askers is not such a question, because its approver is not an asker. A report about an
// unknown outcome and the reason of a denial don't count either.
func isQuestion(s core.SuspendedCall) bool {
	switch s.Kind {
	case core.KindInput, core.KindClient:
		return true
	case core.KindApproval:
		return s.ResumeMode == core.UseDecisionAsToolResult && s.NotBy != core.NotByStarter
	}
	return false
}

func byOf(e core.Event) string {
	var who struct {
		By string `json:"by"`
	}
	_ = json.Unmarshal(e.Data, &who)
	return who.By
}
