package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

const storyAgent = "agent"

// storyCast is the agent's other side: model, tools, rules, and a ledger of what was done. It is no
// process: it survives each.
type storyCast struct {
	p        *performance
	bodies   []storyBody
	happened map[string]core.Outcome // by run and call: what the body did, unless it only asked
	effects  map[string]int          // by run and call
	running  map[string]int          // by tool
	notices  map[string]int          // by tool
	deaf     int
	busy     map[int]int       // by turn: how often the model was
	down     map[int]time.Time // by turn: until when it is
	asks     []time.Time
	refused  time.Time // when the model was busy last
	hasty    bool      // it was asked again at once
	denied   map[string]bool
	errands  map[string]*storyErrand // by key
	newer    bool                    // the second version is deployed
	brought  bool                    // a start may supply tools, context and state

	listeners
}

// storyBody is one body that ran.
type storyBody struct {
	tool, arguments, resume string

	beside []string // tools whose bodies ran when it began
}

func (c *storyCast) runningNow() (tools []string) {
	for tool, n := range c.running {
		if n > 0 {
			tools = append(tools, tool)
		}
	}
	return tools
}

func newStoryCast(p *performance) *storyCast {
	return &storyCast{p: p, happened: map[string]core.Outcome{}, effects: map[string]int{}, running: map[string]int{},
		notices: map[string]int{}, deaf: p.setting.deaf, busy: map[int]int{}, down: map[int]time.Time{}, denied: map[string]bool{}, errands: map[string]*storyErrand{},
		listeners: listeners{asked: map[string]int{}}}
}

// Newest implements [engine.Agents].
func (c *storyCast) Newest(context.Context, string, string) (string, error) { return c.version(), nil }

func (c *storyCast) Current(_ context.Context, tenant, name string) (engine.Definition, error) {
	return engine.Definition{Tenant: tenant, Name: name, Digest: c.version(), Body: json.RawMessage(`{}`)}, nil
}

func (c *storyCast) Deployed(context.Context, string) ([]engine.Definition, error) { return nil, nil }

// Of implements [engine.Subscribers].
func (c *storyCast) Of(context.Context, core.Head) ([]notice.Subscription, error) {
	if !c.p.setting.notify {
		return c.listeners.all.Subscriptions(false), nil
	}
	return []notice.Subscription{{Endpoint: "people", On: notice.Set{notice.Suspended}}}, nil
}

// Send implements [delivery.Endpoints].
func (c *storyCast) Send(_ context.Context, n delivery.Notice) delivery.Result {
	if c.deaf > 0 {
		c.deaf--
		return delivery.Result{Outcome: notice.Refused, Error: "no answer"}
	}
	if notice.OfPush(n.Endpoint) {
		return c.heard(n)
	}
	if call, ok := core.SuspendedIn(n.Event); ok {
		c.notices[call.ToolName]++
	}
	return delivery.Result{Outcome: notice.Delivered}
}

// Disable implements [delivery.Endpoints].
func (c *storyCast) Disable(context.Context, notice.Key, string) error { return nil }

// storyAgents is the cast as one process sees it.
type storyAgents struct {
	*storyCast
	of *process
}

// Load implements [engine.Agents]: what the deployed version denies is denied from then on.
func (a storyAgents) Load(_ context.Context, pin engine.Pin) (engine.Agent, error) {
	tools := map[string]engine.Tool{}
	known, accepted := a.toolsOf(pin)
	for name, spec := range known {
		if !spec.Client {
			tools[name] = storyBodies(a)
		}
	}
	denied := map[string]bool{}
	for name := range a.denied {
		denied[name] = true
	}
	return engine.Agent{Rules: storyRules{a.p, denied, known}, Model: storyModel{a, a.turnsOf(pin.Name)}, Tools: tools, Peers: a.peers(), Supplied: accepted}, nil
}

// turnsOf are the turns of the agent that a tool calls, or those of the story's own.
func (a storyAgents) turnsOf(name string) []storyTurn {
	if t := a.p.setting.tools[name]; t != nil && t.spec.Agent {
		return t.turns
	}
	return a.p.setting.turns
}

type storyRules struct {
	p      *performance
	denied map[string]bool
	tools  map[string]core.ToolSpec
}

// Tool implements [core.Rules].
func (r storyRules) Tool(name string) (core.ToolSpec, bool) {
	spec, ok := r.tools[name]
	return spec, ok
}

// Check implements [core.Rules].
func (storyRules) Check(core.ToolCall) error { return nil }

// Gate implements [core.Rules].
func (r storyRules) Gate(call core.ToolCall, state core.State) core.Verdict {
	r.p.cast.checkState(state)
	t := r.p.setting.tools[call.Name]
	if r.denied[call.Name] {
		return core.Verdict{Effect: core.Deny, Reason: "not any more"}
	}
	if r.tools[call.Name].Supplied {
		return core.Verdict{Effect: core.Allow}
	}
	v := core.Verdict{Effect: t.effect, Policy: t.policy(r.p.setting.approvers)}
	if t.effect == core.Ask {
		v.Mode = t.mode
	}
	if t.separate {
		v.NotBy = core.NotByStarter
	}
	if t.grants {
		v.Grant = call.Name
	}
	return v
}

// Deadline implements [core.Rules].
func (r storyRules) Deadline(call core.ToolCall, _ core.Kind) core.Deadline {
	if t, ok := r.p.setting.tools[call.Name]; ok {
		return t.deadline
	}
	return core.Deadline{} // the run itself waits
}

// Times implements [core.Rules].
func (storyRules) Times(p *vote.Policy, stage int, now int64) core.Times {
	return core.TimesOf(p, stage, core.AllHours(now))
}

func (r storyRules) Child(call core.ToolCall) (core.ChildSpec, bool) {
	t, ok := r.p.setting.tools[call.Name]
	spec := core.ChildSpec{Agent: call.Name, Input: string(call.Arguments)}
	if ok && t.remote {
		spec.Agent, spec.Remote = "", call.Name
	}
	return spec, ok && t.spec.Agent
}

// Terms implements [core.Rules].
func (r storyRules) Terms() core.Terms {
	return core.Terms{Parallel: r.p.setting.parallel, Outage: r.p.setting.outage.Milliseconds(), Approvers: r.p.setting.approvers}
}

type storyModel struct {
	storyAgents
	turns []storyTurn
}

// Ask answers by the position in the conversation, so that asking again gives the same turn.
func (m storyModel) Ask(ctx context.Context, prompt engine.Prompt) (core.Turn, error) {
	c := m.storyCast
	if why := sim.Malformed(prompt.Messages, false); why != "" {
		c.p.wrong("I-7: %s", why)
	}
	c.checkBrought(prompt)
	c.hasty = c.hasty || !c.refused.IsZero() && c.p.w.Now().Sub(c.refused) < time.Second
	c.asks = append(c.asks, c.p.w.Now())
	c.p.w.Note("the model is asked with %s", toldConversation(prompt.Messages))
	c.p.w.Yield(ctx)
	n := 0
	for _, message := range prompt.Messages {
		if message.Role == core.RoleAssistant {
			n++
		}
	}
	if n >= len(m.turns) {
		return core.Turn{Text: "There is nothing to say."}, nil
	}
	return m.answer(ctx, prompt, n)
}

func (m storyModel) answer(ctx context.Context, prompt engine.Prompt, n int) (core.Turn, error) {
	c, turn := m.storyCast, m.turns[n]
	switch {
	case turn.breaks && prompt.Run == core.RunID(prompt.Thread, 0):
		return core.Turn{}, errors.New("it broke")
	case c.busy[n] < turn.busy:
		c.busy[n]++
		c.refused = c.p.w.Now()
		return core.Turn{}, engine.ErrTryAgain
	case c.isDown(n, turn):
		c.refused = c.p.w.Now()
		return core.Turn{}, &engine.TryLater{Detail: "nobody listens"}
	case turn.kills:
		m.of.die(ctx, c.p)
	}
	return core.Turn{Text: turn.say, Calls: turn.calls, InputTokens: 1, OutputTokens: 1}, nil
}

// isDown: the model answers no earlier than so long after it was first asked for the turn.
func (c *storyCast) isDown(n int, turn storyTurn) bool {
	if _, known := c.down[n]; !known {
		c.down[n] = c.p.w.Now().Add(turn.down)
	}
	return c.p.w.Now().Before(c.down[n])
}

// die loses the process from within: whoever called does not come back.
func (q *process) die(ctx context.Context, p *performance) {
	q.lost = true
	_ = p.w.Sleep(ctx, patience)
}

type storyBodies storyAgents

// Run is every tool's body.
func (b storyBodies) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	c, t := b.storyCast, b.p.setting.tools[req.Call.Name]
	c.allowed(req, t)
	out := c.outcome(req, t)
	c.note(req, t, out)
	defer func() { c.running[req.Call.Name]--; c.p.change() }()
	c.p.w.Yield(ctx)
	if t.kills {
		b.of.die(ctx, c.p)
	}
	if err := c.p.w.Sleep(ctx, t.takes); err != nil && t.takes > 0 {
		return core.Outcome{}, err
	}
	if out.Failed {
		return core.Outcome{}, errors.New(out.Text)
	}
	return out, nil
}

func (c *storyCast) outcome(req engine.ToolRequest, t *storyTool) core.Outcome {
	if t.fails != "" {
		return core.Outcome{Failed: true, Text: t.fails}
	}
	text, asks := "done", t.asks
	if req.Resume != nil {
		_ = json.Unmarshal(req.Resume.Result, &text)
		asks = t.until != "" && t.until != text
		text = "done with " + text
	}
	if !asks {
		return core.Outcome{Text: text}
	}
	return core.Outcome{Ticket: &core.SuspendTicket{ResumeMode: core.PassDecisionToTool,
		Suspension: core.Suspension{Action: "answer", Message: "which?"}}}
}

// once says whether a call's body carries the promise to happen once.
func (c *storyCast) once(run string, call core.ToolCall, t *storyTool) bool {
	return t.spec.Delivery == core.AtMostOnce ||
		t.spec.Delivery == core.DeliveryDefault && (t.effect == core.Ask || c.p.witness.approved[run+"/"+call.ID])
}

func (c *storyCast) note(req engine.ToolRequest, t *storyTool, out core.Outcome) {
	resume := ""
	if req.Resume != nil {
		resume = string(req.Resume.Result)
	}
	c.p.w.Note("the body of %s %s runs", req.Call.Name, req.Call.Arguments)
	c.bodies = append(c.bodies, storyBody{req.Call.Name, string(req.Call.Arguments), resume, c.runningNow()})
	c.running[req.Call.Name]++
	c.p.change()
	if out.Ticket != nil {
		return
	}
	what := req.Run + "/" + req.Call.ID
	c.happened[what] = out
	if c.effects[what]++; c.effects[what] > 1 && c.once(req.Run, req.Call, t) {
		c.p.wrong("what %s does once happened twice", req.Call.Name)
	}
}

// allowed is invariant I-4, at the moment a body starts.
func (c *storyCast) allowed(req engine.ToolRequest, t *storyTool) {
	what, w := req.Run+"/"+req.Call.ID, c.p.witness
	arguments := w.asked[what].Arguments
	if edited, ok := w.edited[what]; ok {
		arguments = edited
	}
	switch {
	case t.effect == core.Ask && !w.approved[what] && !w.granted[req.Run+"/"+req.Call.Name]:
		c.p.wrong("I-4: %s ran without approval", req.Call.Name)
	case w.overtaken(req.Thread, what):
		c.p.wrong("CH-2: %s ran on an answer that was given after the cancel of a run above", req.Call.Name)
	case w.closed[what] != "":
		c.p.wrong("I-4: %s ran although %s", req.Call.Name, w.closed[what])
	case string(arguments) != string(req.Call.Arguments):
		c.p.wrong("I-4: %s ran with %s, and was to run with %s", req.Call.Name, req.Call.Arguments, arguments)
	}
}
