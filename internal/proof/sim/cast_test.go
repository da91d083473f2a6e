package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
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
	kills   bool // its process, each time
	invalid bool
	gone    bool // the definition names it, and nobody has its body
	grants  bool // an approval may cover the later calls of the run
	limited bool // its gate looks at the state,
	words   bool // or asks in words that hang on it
	tears   bool // it writes a key that only one may write at a time
}

// fickle: what becomes of a call hangs on who came before it, or on how often somebody tried.
func (r role) fickle() bool {
	return r.kills || r.tears || r.words || r.limited
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
	"form":     {effect: core.Allow, spec: core.ToolSpec{Client: true, Result: json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`)}},
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
	"askgrant": {effect: core.Ask, grants: true},
	"limited":  {effect: core.Allow, limited: true},
	"kill":     {effect: core.Allow, kills: true},
	"killonce": {effect: core.Allow, kills: true, spec: core.ToolSpec{Delivery: core.AtMostOnce}},
	"askif":    {effect: core.Ask, limited: true},
	"askhow":   {effect: core.Ask, words: true},
	"look":     {effect: core.Allow, spec: core.ToolSpec{ReadOnly: true}},
	"tear":     {effect: core.Allow, tears: true},

	core.FinishTool: {effect: core.Allow, spec: core.ToolSpec{Finish: true}},
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
	flights    *flights
	keys       map[string]int   // at-most-once executions by key
	began      map[string]int64 // the newest epoch in which a body began, by key
	executions []execution
	// by run and call: what it came to, unless that was to wait
	happened map[string]core.Outcome
	// by run and call: at-most-once bodies that came to an end
	effects    map[string]int
	killed     int            // processes, by their bodies
	running    int            // bodies
	together   int            // bodies that ran beside others
	remembered map[string]int // runs that were given to the agents' memory
	// the tool that each deployed version denies beyond the one before
	denied []string
	pins   map[string]string // by run
	asked  map[string]bool   // what gates were asked, see askedAbout
}

func newCast(s *stage) *cast {
	return &cast{s: s, flights: newFlights(s), keys: map[string]int{}, began: map[string]int64{}, happened: map[string]core.Outcome{}, effects: map[string]int{}, remembered: map[string]int{}, pins: map[string]string{}, asked: map[string]bool{}}
}

// Load implements [engine.Agents].
func (c *cast) Load(_ context.Context, pin engine.Pin) (engine.Agent, error) {
	if c.s.w.Chance(c.s.faults.Rate) {
		c.s.unserved = c.s.w.Now()
		return engine.Agent{}, &engine.AgentUnavailableError{Name: pin.Name, Reason: "the secret TOKEN is not set"}
	}
	tools := map[string]engine.Tool{}
	for name, r := range roles {
		if !r.gone && !r.spec.Client {
			tools[name] = c
		}
	}
	agent := engine.Agent{Rules: c.narrowed(pin.Narrow), Model: model{c, pin.Name, pin.Version}, Tools: tools, Supplied: c.accepted(pin.Version, pin.Supplied)}
	if c.s.plan.hooks {
		agent.Hooks = []engine.Hook{hook{c}}
	}
	if c.s.plan.memory {
		agent.Memory = memory{c}
	}
	return agent, nil
}

func (c *cast) Current(_ context.Context, tenant, name string) (engine.Definition, error) {
	return engine.Definition{Tenant: tenant, Name: name, Digest: c.version(), Body: json.RawMessage(`{}`)}, nil
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

// Gate implements [core.Rules].
func (c *cast) Gate(call core.ToolCall, state core.State) core.Verdict {
	r := roles[call.Name]
	v := core.Verdict{Effect: r.effect, Mode: r.mode}
	if r.grants {
		v.Grant = call.Name
	}
	if c.s.plan.people.separate(call.Name) {
		v.NotBy = core.NotByStarter
	}
	c.readTwice("its gate is asked", call)
	kept := number(state.Get(core.ThreadScope, "kept")) % 3
	if r.limited && kept != 0 {
		v.Effect = core.Deny
	}
	if r.words {
		v.Reason = fmt.Sprintf("kept %d", kept)
	}
	if r.effect == core.Ask && wellEdited(call.Arguments) && hash(string(call.Arguments))%3 == 0 {
		v.Effect, v.Reason = core.Deny, "not with these arguments"
	}
	return v
}

// askedAbout names a question to a gate: the call, the arguments and the part of the state that
// gates look at.
func askedAbout(call core.ToolCall, kept json.RawMessage) string {
	return fmt.Sprint(call.ID, " ", call.Name, " ", string(call.Arguments), " ", number(kept))
}

// wellEdited: a person wrote the arguments.
func wellEdited(arguments json.RawMessage) bool { return bytes.Contains(arguments, []byte(`"edited"`)) }

// Deadline implements [core.Rules].
func (c *cast) Deadline(call core.ToolCall, kind core.Kind) core.Deadline {
	what := hash(call.ID, string(call.Arguments), kind.String())
	if !c.s.plan.deadlines || what%4 == 0 {
		return core.Deadline{}
	}
	return core.Deadline{Within: 3000 + int64(what%45_000), Outcome: core.DeadlineOutcome(what % 3), Result: core.Encode("set in advance")}
}

// Times implements [core.Rules].
func (*cast) Times(p *vote.Policy, stage int, now int64) core.Times {
	return core.TimesOf(p, stage, core.AllHours(now))
}

func (c *cast) Child(core.ToolCall) (core.ChildSpec, bool) { return core.ChildSpec{}, false }

// Terms implements [core.Rules].
func (c *cast) Terms() core.Terms {
	terms := c.s.plan.terms
	terms.Approvers = c.s.plan.people.approvers.list
	if c.s.plan.remind != nil {
		stage := vote.Stage{Need: 1, Remind: c.s.plan.remind}
		for _, entry := range terms.Approvers {
			stage.Group.Members = append(stage.Group.Members, vote.Member{Is: []string{entry}})
		}
		if e := c.s.plan.escalate; e != nil {
			stage.Escalate = &vote.Escalation{After: e.After, Replace: e.Replace, To: stage.Group}
		}
		terms.Policy = &vote.Policy{Stages: []vote.Stage{stage}}
	}
	return terms
}

// truthful says whether whoever answers unknown outcomes says what happened.
func (s *stage) truthful() bool { return s.plan.calm }

// Newest implements [engine.Agents].
func (c *cast) Newest(context.Context, string, string) (string, error) { return c.version(), nil }
