package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// role is one sort of tool.
type role struct {
	spec    core.ToolSpec
	effect  core.Effect
	mode    core.ResumeMode
	waits   int // how often the body asks to wait
	self    core.ResumeMode
	fails   bool
	panics  bool
	invalid bool
	gone    bool // the definition names it, and nobody has its body
}

var roles = map[string]role{
	"read":     {effect: core.Allow},
	"write":    {effect: core.Allow, spec: core.ToolSpec{Delivery: core.AtMostOnce}},
	"ask":      {effect: core.Ask},
	"askuse":   {effect: core.Ask, mode: core.UseDecisionAsToolResult},
	"askpass":  {effect: core.Ask, mode: core.PassDecisionToTool},
	"askidem":  {effect: core.Ask, spec: core.ToolSpec{Delivery: core.AtLeastOnce}},
	"deny":     {effect: core.Deny},
	"client":   {effect: core.Allow, spec: core.ToolSpec{Client: true}},
	"askcli":   {effect: core.Ask, spec: core.ToolSpec{Client: true}},
	"self":     {effect: core.Allow, waits: 1},
	"selfuse":  {effect: core.Allow, waits: 1, self: core.UseDecisionAsToolResult},
	"selfpass": {effect: core.Allow, waits: 1, self: core.PassDecisionToTool},
	"again":    {effect: core.Allow, waits: 2, self: core.PassDecisionToTool},
	"oncepass": {effect: core.Allow, waits: 1, self: core.PassDecisionToTool, spec: core.ToolSpec{Delivery: core.AtMostOnce}},
	"askself":  {effect: core.Ask, waits: 1, self: core.PassDecisionToTool},
	"fail":     {effect: core.Allow, fails: true},
	"failonce": {effect: core.Ask, fails: true},
	"panic":    {effect: core.Allow, panics: true},
	"invalid":  {effect: core.Ask, invalid: true},
	"gone":     {effect: core.Allow, gone: true},
}

// toolNames are those a model asks for; the last is known to nobody.
var toolNames = append(slices.Sorted(mapKeys(roles)), "ghost")

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// execution is one body that ran.
type execution struct {
	key     string
	run     string
	call    core.ToolCall
	outcome core.Outcome
}

// cast is the agents' other side: model, tools, rules, and a ledger of what the tools really did.
type cast struct {
	s          *stage
	keys       map[string]int // at-most-once executions by key
	executions []execution
	happened   map[string]core.Outcome // by run and call: what it came to, unless that was to wait
	effects    map[string]int          // by run and call: at-most-once bodies that came to an end
}

func newCast(s *stage) *cast {
	return &cast{s: s, keys: map[string]int{}, happened: map[string]core.Outcome{}, effects: map[string]int{}}
}

func (c *cast) Load(_ context.Context, pin engine.Pin) (engine.Agent, error) {
	tools := map[string]engine.Tool{}
	for name, r := range roles {
		if !r.gone && !r.spec.Client {
			tools[name] = c
		}
	}
	return engine.Agent{Rules: c, Model: model{c, pin.Name}, Tools: tools}, nil
}

func (c *cast) Current(_ context.Context, tenant, name string) (engine.Definition, error) {
	return engine.Definition{Tenant: tenant, Name: name, Digest: "v1", Body: json.RawMessage(`{}`)}, nil
}

func (c *cast) Deployed(context.Context, string) ([]engine.Definition, error) { return nil, nil }

func (c *cast) Tool(name string) (core.ToolSpec, bool) {
	r, ok := roles[name]
	r.spec.Name = name
	return r.spec, ok
}

func (c *cast) Check(call core.ToolCall) error {
	if roles[call.Name].invalid {
		return errors.New("they never are")
	}
	return nil
}

func (c *cast) Gate(call core.ToolCall, _ core.State) core.Verdict {
	return core.Verdict{Effect: roles[call.Name].effect, Mode: roles[call.Name].mode}
}

// Deadline implements [core.Rules].
func (c *cast) Deadline(core.ToolCall, core.Kind) core.Deadline { return core.Deadline{} }

// Terms implements [core.Rules].
func (c *cast) Terms() core.Terms { return core.Terms{} }

// Notify fails now and then.
func (c *cast) Notify(context.Context, engine.Notice) error {
	if c.s.w.Chance(c.s.faults.Rate) {
		return errors.New("nobody home")
	}
	return nil
}

// model answers by the position in the transcript, so that asking again gives the same turn.
type model struct {
	*cast
	agent string
}

func (c model) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	if why := malformed(p.Messages); why != "" {
		c.s.wrong("I-7: %s in %s", why, p.Run)
	}
	c.s.w.Yield(ctx)
	if c.s.faults.Rate > 0 && c.s.w.Chance(c.s.plan.tryAgain) {
		return core.Turn{}, engine.ErrTryAgain
	}
	turns, since := 0, 0
	for _, m := range p.Messages {
		switch m.Role {
		case core.RoleAssistant:
			turns, since = turns+1, since+1
		case core.RoleUser:
			since = 0
		}
	}
	return c.turn(turns, since)
}

func (c model) turn(n, since int) (core.Turn, error) {
	rng := rand.New(rand.NewPCG(c.s.seed, hash(c.agent, strconv.Itoa(n))))
	if rng.IntN(60) == 0 {
		return core.Turn{}, &engine.StopError{Code: "script_ended"}
	}
	turn := core.Turn{Text: fmt.Sprintf("turn %d", n), InputTokens: 10, OutputTokens: 1}
	if since >= 5 || rng.IntN(5) == 0 {
		return turn, nil
	}
	for i := range rng.IntN(6) {
		id := []string{"", "c", fmt.Sprintf("c%d", i), fmt.Sprintf("t%d.%d", n, i)}[rng.IntN(4)]
		turn.Calls = append(turn.Calls, core.ToolCall{ID: id, Name: toolNames[rng.IntN(len(toolNames))],
			Arguments: json.RawMessage(fmt.Sprintf(`{"n":"%d.%d"}`, n, i))})
	}
	return turn, nil
}

func hash(texts ...string) uint64 {
	h := fnv.New64a()
	for _, t := range texts {
		_, _ = h.Write([]byte(t + "\x00"))
	}
	return h.Sum64()
}

// malformed is invariant I-7: one result for each call, none without.
func malformed(messages []core.Message) string {
	var open []string
	for _, m := range messages {
		if m.Role == core.RoleTool {
			if len(open) == 0 || open[0] != m.CallID {
				return fmt.Sprintf("a result for %q where %v are open", m.CallID, open)
			}
			if m.Pending {
				return fmt.Sprintf("a placeholder for %q", m.CallID)
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("calls %v have no result before the next message", open)
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("calls %v have no result", open)
	}
	return ""
}

// Run is every tool's body.
func (c *cast) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	r := roles[req.Call.Name]
	c.allowed(req, r)
	out := c.outcome(req, r)
	c.note(req, out, c.onceOnly(req, r))
	c.s.w.Yield(ctx)
	if c.s.w.Chance(c.s.faults.Pause) {
		_ = c.s.w.Sleep(ctx, c.s.w.Upto(2*lease)) // slow after the effect: the lease ends while it works
	}
	if r.panics {
		panic("a tool's own mistake")
	}
	if r.fails {
		return core.Outcome{}, errors.New(out.Text)
	}
	return out, nil
}

func (c *cast) outcome(req engine.ToolRequest, r role) core.Outcome {
	text := "did " + string(req.Call.Arguments)
	if r.fails {
		return core.Outcome{Failed: true, Text: "failed " + string(req.Call.Arguments)}
	}
	if req.Resume != nil {
		text += " after " + string(req.Resume.Result)
	}
	if !c.waits(req, r) {
		return core.Outcome{Text: text}
	}
	return core.Outcome{Ticket: &core.SuspendTicket{ResumeMode: r.self,
		Suspension: core.Suspension{Action: "confirm", Message: strings.Repeat("sure? ", 1+int(hash(req.Call.ID)%80))}}}
}

// waits: a body that is handed decisions goes by them; one that is only replayed by its attempt.
func (c *cast) waits(req engine.ToolRequest, r role) bool {
	if r.waits == 0 {
		return false
	}
	if r.self == core.PassDecisionToTool {
		return req.Resume == nil || r.waits == 2 && string(req.Resume.Result) != `"enough"`
	}
	return strings.HasSuffix(req.Key, "/0")
}

// onceOnly says whether this execution carries the promise to happen once.
func (c *cast) onceOnly(req engine.ToolRequest, r role) bool {
	return r.spec.Delivery == core.AtMostOnce ||
		r.spec.Delivery == core.DeliveryDefault && c.s.watched.approved[req.Run+"/"+req.Call.ID]
}

func (c *cast) note(req engine.ToolRequest, out core.Outcome, once bool) {
	c.executions = append(c.executions, execution{req.Key, req.Run, req.Call, out})
	if once {
		if c.keys[req.Key]++; c.keys[req.Key] > 1 {
			c.s.wrong("an at-most-once body ran twice under key %s (%s)", req.Key, req.Call.Name)
		}
	}
	if out.Ticket != nil {
		return
	}
	what := req.Run + "/" + req.Call.ID
	c.happened[what] = out
	if once {
		if c.effects[what]++; c.effects[what] > 1 && c.s.plan.jumps == 0 && c.s.truthful() {
			c.s.wrong("the effect of %s (%s) happened twice", what, req.Call.Name)
		}
	}
}

// allowed is invariant I-4, at the moment a body starts.
func (c *cast) allowed(req engine.ToolRequest, r role) {
	what := req.Run + "/" + req.Call.ID
	asked := c.s.watched.asked[what]
	switch {
	case r.effect == core.Deny || r.invalid || r.gone || r.spec.Client:
		c.s.wrong("I-4: a body of %s ran", req.Call.Name)
	case r.effect == core.Ask && !c.s.watched.approved[what]:
		c.s.wrong("I-4: %s ran without approval", what)
	case asked.Name != req.Call.Name || string(asked.Arguments) != string(req.Call.Arguments):
		c.s.wrong("I-4: %s ran as %s %s", what, req.Call.Name, req.Call.Arguments)
	}
}

// truthful says whether whoever answers unknown outcomes says what happened.
func (s *stage) truthful() bool { return s.plan.calm }

// Newest implements [engine.Agents].
func (c *cast) Newest(context.Context, string, string) (string, error) { return "v1", nil }
