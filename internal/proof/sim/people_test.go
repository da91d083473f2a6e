package sim_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/links"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// anna starts the rounds of [TestARoundOfManyCallsIsDecidedInAnyOrder], where principals do not
// matter.
var anna = frontend.Caller{Tenant: "t", By: "anna"}

// The principals of a tenant. Both tenants have the same.
const (
	starter  = "token:anna" // starts, sends messages and decides
	approver = "token:olga" // decides, and never asks for any work
	both     = "token:sam"  // may start and approve, but not what it asked for itself
	neither  = "token:mia"  // is in no list
	nameless = ""           // came without a token
)

// person is a principal as the frontend gets to know it.
func (s *stage) person(by string) frontend.Caller {
	c := frontend.Caller{Tenant: s.tenant, By: by, Via: "api"}
	switch by {
	case starter:
		c.Roles = []access.Role{"asks"}
	case approver:
		c.Roles = []access.Role{"approves"}
	case both:
		c.Roles = []access.Role{"asks", "approves"}
	}
	return c
}

// circle is a list of callers: as an agent's definition has it, and the principals that it means.
// The referee goes by the latter.
type circle struct {
	list   []string
	means  []string
	byName []string // the principals that it means whatever their roles are
}

func (c circle) has(by string) bool { return len(c.list) == 0 || slices.Contains(c.means, by) }

var starterLists = []circle{
	{},
	{list: []string{"role:asks"}, means: []string{starter, both}},
	{list: []string{starter, "token:s*"}, means: []string{starter, both}, byName: []string{starter, both}},
}

var approverLists = []circle{
	{},
	{list: []string{"role:approves"}, means: []string{approver, both}},
	{list: []string{"token:o*", both}, means: []string{approver, both}, byName: []string{approver, both}},
	{list: []string{both, "role:approves"}, means: []string{approver, both}, byName: []string{both}},
}

// people are the rules of one tenant on who may do what.
type people struct {
	starters, approvers circle
	// which tools bar whoever asked for the work from approving; 0: none
	duties   uint64
	nameless bool // some callers have no name
}

// meet chooses the rules, and how many tenants there are.
func (p *plan) meet(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 79))
	p.people = somePeople(rng)
	if rng.IntN(6) == 0 && !p.calm {
		p.neighbour = &neighbourhood{people: somePeople(rng), twin: rng.IntN(2) == 0}
	}
}

func somePeople(rng *rand.Rand) people {
	return people{starters: starterLists[rng.IntN(len(starterLists))], approvers: approverLists[max(0, rng.IntN(len(approverLists)+2)-2)],
		duties: uint64(max(0, rng.IntN(5)-1)), nameless: rng.IntN(6) == 0}
}

// separate says whether the asks about a tool carry not_by: starter.
func (p people) separate(tool string) bool {
	return p.duties > 0 && roles[tool].effect == core.Ask && (p.duties == 1 || hash(tool)%p.duties == 0)
}

// someone is any principal of the tenant.
func (t *thread) someone() frontend.Caller {
	by := []string{starter, approver, both, neither, starter, both}[t.pick(6)]
	if t.s.plan.people.nameless && t.pick(8) == 0 {
		by = nameless
	}
	return t.s.person(by)
}

// decider gives the true answer to what waits: the approver does, unless the answer becomes the
// call's result. The caller who gives that asks for the work that follows, and when the approver
// does, depends on the faults.
func (t *thread) decider(p wire.Pending) frontend.Caller {
	if t.isQuestion(p) {
		return t.s.person(both)
	}
	return t.s.person(approver)
}

// isQuestion says whether the answer to what waits becomes the call's result, which the model
// reads, and the rule that asks does not bar those who asked for the work.
func (s *stage) isQuestion(kind core.Kind, mode core.ResumeMode, tool string) bool {
	switch kind {
	case core.KindInput, core.KindClient:
		return true
	case core.KindApproval:
		return mode == core.UseDecisionAsToolResult && !s.plan.people.separate(tool)
	}
	return false
}

// isQuestion is the same of what a caller is shown.
func (t *thread) isQuestion(p wire.Pending) bool {
	var kind core.Kind
	var mode core.ResumeMode
	if kind.UnmarshalText([]byte(p.Kind)) != nil || p.ResumeMode != "" && mode.UnmarshalText([]byte(p.ResumeMode)) != nil {
		return false
	}
	return t.s.isQuestion(kind, mode, p.Tool)
}

// answerer is any principal who answers what waits; not the approver if the answer becomes a
// result.
func (t *thread) answerer(p wire.Pending) frontend.Caller {
	if t.isQuestion(p) {
		return t.asker()
	}
	return t.someone()
}

// asker is any principal who asks for work. The approver does not, so that there is always somebody
// who may approve.
func (t *thread) asker() frontend.Caller {
	who := t.someone()
	if who.By == approver {
		return t.s.person(both)
	}
	return who
}

// turnedAway says whether a start or a message was refused because of who sent it, and holds that
// against the agent's list.
func (t *thread) turnedAway(who frontend.Caller, err error) bool {
	if code(err) != refusal.CodeNotAStarter {
		return false
	}
	if t.s.plan.people.starters.has(who.By) {
		t.s.wrong("%q may start runs, and was told %v", who.By, err)
	}
	t.s.faults.Counts[string(refusal.CodeNotAStarter)]++
	return true
}

// request is what is known of a request wherever it is carried out: who sent it, and what it asks
// for.
type request struct {
	who     frontend.Caller
	text    string // of a start or a message
	retryOf string
}

type requestKey struct{}

func requestOf(ctx context.Context) (request, bool) {
	r, ok := ctx.Value(requestKey{}).(request)
	return r, ok
}

// desk is the frontend as callers reach it. It writes down who sends each request, on its own: what
// the frontend makes of that is compared with it later.
type desk struct{ *query.Reader }

func (d desk) by(ctx context.Context, r request) context.Context {
	return inTenant(context.WithValue(ctx, requestKey{}, r), r.who.Tenant)
}

func textIn(input json.RawMessage) (text string) {
	_ = json.Unmarshal(input, &text)
	return text
}

func (d desk) Start(ctx context.Context, c frontend.Caller, key string, req wire.StartRequest) (frontend.Started, error) {
	return d.Reader.Start(d.by(ctx, request{who: c, text: textIn(req.Input)}), c, key, req)
}

func (d desk) ThreadByKey(ctx context.Context, c frontend.Caller, key string) (wire.Thread, error) {
	return d.Reader.ThreadByKey(d.by(ctx, request{who: c}), c, key)
}

func (d desk) Message(ctx context.Context, c frontend.Caller, thread, key string, req wire.MessageRequest) (frontend.Started, error) {
	return d.Reader.Message(d.by(ctx, request{who: c, text: textIn(req.Input)}), c, thread, key, req)
}

func (d desk) Retry(ctx context.Context, c frontend.Caller, run, key string) (frontend.Started, error) {
	return d.Reader.Retry(d.by(ctx, request{who: c, retryOf: run}), c, run, key)
}

func (d desk) Decide(ctx context.Context, c frontend.Caller, run string, decision wire.Decision) (wire.DecisionAnswer, error) {
	return d.Reader.Decide(d.by(ctx, request{who: c}), c, run, decision)
}

func (d desk) Resume(ctx context.Context, c frontend.Caller, run string, req wire.ResumeRequest) (wire.DecisionAnswer, error) {
	return d.Reader.Resume(d.by(ctx, request{who: c}), c, run, req)
}

func (d desk) Cancel(ctx context.Context, c frontend.Caller, run string) (wire.Run, error) {
	return d.Reader.Cancel(d.by(ctx, request{who: c}), c, run)
}

func (d desk) Interrupt(ctx context.Context, c frontend.Caller, run, key string) (wire.Run, error) {
	return d.Reader.Interrupt(d.by(ctx, request{who: c}), c, run, key)
}

func (d desk) Run(ctx context.Context, c frontend.Caller, run string) (wire.Run, error) {
	return d.Reader.Run(d.by(ctx, request{who: c}), c, run)
}

func (d desk) Events(ctx context.Context, c frontend.Caller, run string, q query.EventQuery) (wire.EventPage, error) {
	return d.Reader.Events(d.by(ctx, request{who: c}), c, run, q)
}

func (d desk) Messages(ctx context.Context, c frontend.Caller, thread string, q query.List) (wire.Page[wire.Message], error) {
	return d.Reader.Messages(d.by(ctx, request{who: c}), c, thread, q)
}

func (d desk) Runs(ctx context.Context, c frontend.Caller, q query.List) (wire.Page[wire.Run], error) {
	return d.Reader.Runs(d.by(ctx, request{who: c}), c, q)
}

func (d desk) Approvals(ctx context.Context, c frontend.Caller, q query.List) (wire.Page[wire.Approval], error) {
	return d.Reader.Approvals(d.by(ctx, request{who: c}), c, q)
}

func (d desk) MakeLink(ctx context.Context, c frontend.Caller, run string, o links.LinkOrder) (engine.Link, error) {
	return links.New(d.Reader.Frontend).MakeLink(d.by(ctx, request{who: c}), c, run, o)
}

func (d desk) DecideByLink(ctx context.Context, c frontend.Caller, decision wire.Decision) (wire.DecisionAnswer, error) {
	return d.Reader.DecideByLink(d.by(ctx, request{who: c}), c, decision)
}
