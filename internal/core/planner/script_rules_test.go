package planner_test

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// scriptRules are the rules of a script's agent. What is not said of a tool is allowed, without a
// limit.
type scriptRules struct {
	terms      core.Terms
	quiet      bool // no one is notified when a call waits
	subscribed notice.Set
	tools      map[string]*scriptTool
}

type scriptTool struct {
	spec     core.ToolSpec
	effect   core.Effect
	mode     core.ResumeMode
	reason   string
	grant    bool // an approval may be for the rest of the turn
	asksOver int  // allowed if the member amount is not above; 0: whatever the effect says
	deniesAt int  // denied from this amount on
	deadline core.Deadline
	preview  string
	agent    string // that it calls
	policy   *vote.Policy
	separate bool        // the requester may not approve
	small    *scriptTool // the rule for amounts below smallTo
	smallTo  int
}

// tool reads "NAME EFFECT OPTION..."; a reason comes last. With an option below=AMOUNT, it is the
// rule for smaller amounts of a tool that has been read.
func (r *scriptRules) tool(line string) string {
	line, reason, _ := strings.Cut(line, " reason ")
	words := strings.Fields(line)
	tool := &scriptTool{spec: core.ToolSpec{Name: words[0]}, effect: core.Allow, reason: reason}
	for _, w := range words[1:] {
		if !tool.option(w) {
			return "a tool has no option " + w
		}
	}
	if of, there := r.tools[words[0]]; there && tool.smallTo > 0 {
		of.small = tool
		return ""
	}
	r.tools[words[0]] = tool
	return ""
}

func (s *scriptTool) option(word string) bool {
	name, value, _ := strings.Cut(word, "=")
	n, _ := strconv.Atoi(value)
	switch name {
	case "once":
		s.spec.Delivery = core.AtMostOnce
	case "repeats":
		s.spec.Delivery = core.AtLeastOnce
	case "client":
		s.spec.Client = true
	case "agent":
		s.spec.Agent, s.agent = true, value
	case "finish":
		s.spec.Finish = true
	case "reads":
		s.spec.ReadOnly = true
	case "grant":
		s.grant = true
	case "preview":
		s.preview = value
	case "ask-over":
		s.asksOver = n
	case "deny-from":
		s.deniesAt = n
	case "deadline":
		s.deadline.Within = int64(n) * 1000
	case "below":
		s.smallTo = n
	case "separate":
		s.separate = true
	case "policy":
		s.policy = readScriptPolicy(value)
	case "on-deadline":
		return s.deadline.Outcome.UnmarshalText([]byte(value)) == nil
	case "mode":
		return s.mode.UnmarshalText([]byte(value)) == nil
	default:
		return s.effect.UnmarshalText([]byte(word)) == nil
	}
	return true
}

// agent reads what else the definition says.
func (r *scriptRules) agent(line string) string {
	for _, word := range strings.Fields(line) {
		name, value, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "parallel":
			r.terms.Parallel = true
		case "continue":
			r.terms.Continue = true
		case "quiet":
			r.quiet = true
		case "subscribes":
			for kind := range strings.SplitSeq(value, ",") {
				r.subscribed = append(r.subscribed, notice.Kind(kind))
			}
		case "memory":
			r.terms.Memory = true
		case "step-calls":
			r.terms.StepCalls = n
		case "max-depth":
			r.terms.Depth = n
		case "max-children":
			r.terms.Children = n
		case "run-calls":
			r.terms.RunCalls = n
		case "outage":
			r.terms.Outage = int64(n) * 1000
		case "max-rounds":
			rule, _ := stoprule.Spec{Type: "max_rounds", Rounds: n}.Rule()
			r.terms.Stops = append(r.terms.Stops, rule)
		case "max-tokens":
			rule, _ := stoprule.Spec{Type: "token_budget", MaxTotal: n}.Rule()
			r.terms.Stops = append(r.terms.Stops, rule)
		case "price": // dollars for a million tokens; an answer has 100
			each := core.USD(n).Times(1_000_000)
			r.terms.Price = &core.Price{Input: each, Output: each, CacheRead: each, CacheWrite: each}
		case "max-cost":
			usd, _ := core.ParseUSD(value)
			rule, _ := stoprule.Spec{Type: "max_cost", USD: usd}.Rule()
			r.terms.Stops = append(r.terms.Stops, rule)
		case "run-cost", "ask-cost":
			usd, _ := core.ParseUSD(value)
			r.terms.RunCost = core.CostLimit{Most: usd, Ask: name == "ask-cost"}
		default:
			return "an agent has no option " + word
		}
	}
	return ""
}

func (r *scriptRules) notices() notice.Set {
	if r.quiet {
		return nil
	}
	if r.subscribed != nil {
		return r.subscribed
	}
	return notice.Set{notice.Suspended}
}

func (r *scriptRules) Tool(name string) (core.ToolSpec, bool) {
	tool, ok := r.tools[name]
	if !ok {
		return core.ToolSpec{}, false
	}
	return tool.spec, true
}

func (r *scriptRules) Check(core.ToolCall) error { return nil }

func (r *scriptRules) Gate(call core.ToolCall, _ core.State) core.Verdict {
	tool, ok := r.tools[call.Name]
	if !ok {
		return core.Verdict{Effect: core.Deny}
	}
	var args struct{ Amount int }
	_ = json.Unmarshal(call.Arguments, &args)
	grant := call.Name
	if tool.small != nil && args.Amount < tool.small.smallTo {
		tool, grant = tool.small, call.Name+" small"
	}
	v := core.Verdict{Effect: tool.effect, Reason: tool.reason, Mode: tool.mode, Policy: tool.policy}
	if tool.separate {
		v.NotBy = core.NotByStarter
	}
	switch {
	case tool.deniesAt > 0 && args.Amount >= tool.deniesAt:
		v.Effect = core.Deny
	case tool.asksOver > 0 && args.Amount > tool.asksOver:
		v.Effect = core.Ask
	}
	if tool.grant {
		v.Grant = grant
	}
	if v.Effect == core.SetResult {
		v.Result = &core.Outcome{Text: tool.reason}
	}
	return v
}

func (r *scriptRules) Deadline(call core.ToolCall, _ core.Kind) core.Deadline {
	if tool, ok := r.tools[call.Name]; ok {
		return tool.deadline
	}
	return core.Deadline{}
}

func (*scriptRules) Times(p *vote.Policy, stage int, now int64) core.Times {
	return core.TimesOf(p, stage, core.AllHours(now))
}

func (r *scriptRules) Terms() core.Terms { return r.terms }

// Child passes the arguments on.
func (r *scriptRules) Child(call core.ToolCall) (core.ChildSpec, bool) {
	tool, ok := r.tools[call.Name]
	if !ok || !tool.spec.Agent {
		return core.ChildSpec{}, false
	}
	return core.ChildSpec{Agent: tool.agent, Input: string(call.Arguments)}, true
}

// Preview reads with the tool that the option names.
func (r *scriptRules) Preview(call core.ToolCall) *plans.PreviewSource {
	if tool, ok := r.tools[call.Name]; ok && tool.preview != "" {
		return &plans.PreviewSource{Read: &core.ToolCall{Name: tool.preview, Arguments: json.RawMessage(`{}`)}}
	}
	return nil
}
