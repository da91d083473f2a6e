package planner_test

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// scriptActs are what a script can say, by its first word.
var scriptActs map[string]func(p *scriptPlayer, rest string)

func init() {
	scriptActs = map[string]func(p *scriptPlayer, rest string){
		// The agent, and what models and tools will answer.
		"agent": func(p *scriptPlayer, rest string) { p.check(p.rules.agent(rest)) },
		"tool":  func(p *scriptPlayer, rest string) { p.check(p.rules.tool(rest)) },
		"model": (*scriptPlayer).model,
		"body":  (*scriptPlayer).body,
		"hook":  (*scriptPlayer).hook,

		// What happens to the run.
		"start": func(p *scriptPlayer, rest string) {
			p.message(core.KeyStart, core.Signal{Kind: core.SignalStart}, rest)
		},
		"retry":   (*scriptPlayer).retry,
		"message": (*scriptPlayer).userMessage,
		"decide":  (*scriptPlayer).decide,
		"late":    (*scriptPlayer).late,
		"vote":    (*scriptPlayer).vote,
		"interrupt": func(p *scriptPlayer, _ string) {
			p.signal(core.KeyPause, core.Signal{Kind: core.SignalPause, ID: "i1"})
		},
		"resume": (*scriptPlayer).resume,
		"cancel": func(p *scriptPlayer, _ string) {
			p.signal(core.KeyCancel, core.Signal{Kind: core.SignalCancel, By: "anna"})
		},
		"child":    (*scriptPlayer).childEnds,
		"below":    (*scriptPlayer).below,
		"above":    (*scriptPlayer).above,
		"during":   func(p *scriptPlayer, rest string) { p.during = append(p.during, rest) },
		"speaking": func(p *scriptPlayer, rest string) { p.speak = append(p.speak, rest) },
		"before":   func(p *scriptPlayer, rest string) { p.before = append(p.before, strings.TrimPrefix(rest, "closing ")) },
		"later":    (*scriptPlayer).later,
		"run":      (*scriptPlayer).activation,
	}
}

// acts lets happen, once, what was to happen at a moment.
func (p *scriptPlayer) acts(waiting *[]string) {
	lines := *waiting
	*waiting = nil
	for _, line := range lines {
		p.say("  (%s)", line)
		p.act(line)
	}
}

func (p *scriptPlayer) act(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	do, ok := scriptActs[verb]
	if !ok {
		p.t.Fatalf("no such act: %s", line)
	}
	do(p, rest)
}

func (p *scriptPlayer) check(wrong string) {
	if wrong != "" {
		p.t.Fatal(wrong)
	}
}

// model reads "says TEXT", "calls ID TOOL ARGUMENTS[; ID TOOL ARGUMENTS...]", "breaks off in" such
// calls, "fails again", "fails with nonsense" or "fails for good". Each answer costs 100 tokens.
func (p *scriptPlayer) model(rest string) {
	verb, rest, _ := strings.Cut(rest, " ")
	turn := &core.Turn{InputTokens: 60, OutputTokens: 40}
	failure := (*plans.ModelFailure)(nil)
	switch verb {
	case "says":
		turn.Text = rest
	case "breaks":
		turn.End = &core.Reason{Kind: core.Stopped, Code: "max_tokens"}
		_, rest, _ = strings.Cut(rest, "in ") // breaks off in ID TOOL ARGUMENTS
		fallthrough
	case "calls":
		for one := range strings.SplitSeq(rest, "; ") {
			part := append(strings.SplitN(one, " ", 3), "{}")
			turn.Calls = append(turn.Calls, core.ToolCall{ID: part[0], Name: part[1], Arguments: json.RawMessage(part[2])})
		}
	case "fails":
		turn, failure = nil, &plans.ModelFailure{Reason: core.Reason{Kind: core.Failed, Code: "model_unavailable", Detail: "no answer"}, Retryable: rest != "for good",
			Answered: rest == "with nonsense"}
	default:
		p.t.Fatalf("a model does not %s", verb)
	}
	p.turns = append(p.turns, func(v *plans.View) { v.Turn, v.Failure = turn, failure })
}

// body reads "ID returns TEXT", "ID fails TEXT", "ID writes KEY VALUE", "ID asks TEXT" or "ID is
// slow".
func (p *scriptPlayer) body(rest string) {
	part := append(strings.SplitN(rest, " ", 3), "", "")
	call, said := part[0], part[2]
	out := core.Outcome{Text: said}
	switch part[1] {
	case "is":
		p.slow[call] = true
		return
	case "fails":
		out.Failed = true
	case "asks":
		out = core.Outcome{Ticket: &core.SuspendTicket{ResumeMode: core.UseDecisionAsToolResult, Suspension: core.Suspension{Action: "ask", Message: said}}}
	case "writes":
		key, value, _ := strings.Cut(said, " ")
		out = core.Outcome{Text: "ok", State: []core.StateOp{{Key: key, Op: core.StateSet, Value: json.RawMessage(value)}}}
	}
	p.bodies[call] = append(p.bodies[call], out)
}

// hook reads "PHASE refuses TEXT", "PHASE waits TEXT", "PHASE ends CODE", "PHASE appends TEXT" or
// "PHASE does nothing".
func (p *scriptPlayer) hook(rest string) {
	part := append(strings.SplitN(rest, " ", 3), "", "")
	var phase core.Phase
	if err := phase.UnmarshalText([]byte(part[0])); err != nil {
		p.t.Fatal(err)
	}
	var e core.Effects
	switch part[1] {
	case "refuses":
		e.Refuse = part[2]
	case "waits":
		e.Wait = &core.SuspendTicket{ResumeMode: core.UseDecisionAsToolResult, Suspension: core.Suspension{Action: "ask", Message: part[2]}}
	case "ends":
		e.End = &core.Reason{Kind: core.BehaviorRequested, Code: part[2]}
	case "appends":
		e.Append = part[2]
	}
	p.hooks[phase] = e
}

func (p *scriptPlayer) message(key string, s core.Signal, text string) {
	if s.Value = nil; text != "" {
		s.Value = core.Encode(core.TextParts(text))
	}
	p.signal(key, s)
}

// userMessage reads "TEXT", or "abandon: TEXT" or "queue: TEXT" for a run that waits. A message
// answers the first question that waits.
func (p *scriptPlayer) userMessage(rest string) {
	s := core.Signal{Kind: core.SignalMessage}
	for _, on := range []core.OnPending{core.PendingAbandon, core.PendingQueue} {
		if text, ok := strings.CutPrefix(rest, string(on)+": "); ok {
			s.On, rest = on, text
		}
	}
	for _, c := range p.head.Calls {
		if c.Status == core.CallSuspended && c.Kind == core.KindInput && s.On == "" {
			s.Sus = c.Sus
		}
	}
	p.message(core.MessageKey("m"+strconv.FormatInt(p.head.Sigs, 10)), s, rest)
}

// retry begins the next run of the thread without an input, as a retry of the one that is done.
func (p *scriptPlayer) retry(string) {
	if p.head.Status != core.RunDone {
		p.t.Fatalf("a retry of a run that is %s", p.head.Status)
	}
	before := p.head.Run
	p.head = p.head.Succeed("v1", core.Signal{Kind: core.SignalStart, At: p.now}, p.now)
	p.head.RetryOf = before
}

// readScriptDecision reads "resume", "grant", "edit ARGUMENTS", "result JSON", "error TEXT" or
// "cancel TEXT".
func (p *scriptPlayer) readScriptDecision(said string) core.Resume {
	verb, rest, _ := strings.Cut(said, " ")
	r := core.Resume{DecisionID: "d" + strconv.FormatInt(p.head.Sigs, 10), Action: core.ActionResume, UpdatedAt: p.now}
	switch verb {
	case "resume":
	case "grant":
		r.Grant = core.GrantRun
	case "edit":
		r.Arguments = json.RawMessage(rest)
	case "result":
		r.Result = json.RawMessage(rest)
	case "error":
		r.Error = rest
	case "cancel":
		r.Action, r.Reason = core.ActionCancel, rest
	default:
		p.t.Fatalf("no such decision: %s", said)
	}
	return r
}

// decide reads "CALL DECISION", by bea.
func (p *scriptPlayer) decide(rest string) {
	call, said, _ := strings.Cut(rest, " ")
	r := p.readScriptDecision(said)
	p.signal(p.suspended(call), core.Signal{Kind: core.SignalDecision, Call: call, ID: r.DecisionID, By: "bea", Value: core.Encode(r)})
}

// late reads "CALL DECISION": an answer on the suspension that a deadline has closed.
func (p *scriptPlayer) late(rest string) {
	call, said, _ := strings.Cut(rest, " ")
	r := p.readScriptDecision(said)
	for sus := range p.head.TimedOut {
		p.signal(core.LateKey(sus), core.Signal{Kind: core.SignalLate, Call: call, ID: r.DecisionID, By: "bea", Value: core.Encode(r)})
		return
	}
	p.say("late: refused")
}

// resume is the decision on an interrupt, or on the run's own wait: "resume", or "resume DECISION".
func (p *scriptPlayer) resume(said string) {
	if said == "" {
		said = "resume"
	}
	for id, c := range p.head.Calls {
		if c.Synthetic && c.Status == core.CallSuspended {
			p.decide(id + " " + said)
			return
		}
	}
	p.t.Fatal("the run itself does not wait")
}

// later lets seconds pass.
func (p *scriptPlayer) later(rest string) {
	n, err := strconv.Atoi(strings.TrimSuffix(rest, "s"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.now += int64(n) * 1000
}
