package planner_test

import (
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// childEnds reads "CALL OUTCOME [$COST] [TEXT]": the run that works for a call has ended. The text
// is its result, or the code of its failure.
func (p *scriptPlayer) childEnds(rest string) {
	call, rest, _ := strings.Cut(rest, " ")
	outcome, rest, _ := strings.Cut(rest, " ")
	result := core.ChildResult{Outcome: core.CallOutcome(outcome), Usage: core.TreeUsage{Runs: 1, InputTokens: 30, OutputTokens: 10}}
	if cost, text, ok := strings.Cut(rest, " "); strings.HasPrefix(cost, "$") {
		if usd, err := core.ParseUSD(cost[1:]); err == nil {
			result.Usage.Cost = int64(usd)
		} else {
			result.Usage.Unpriced, result.Usage.UnpricedAgent = true, "researcher" // $?
		}
		if rest = ""; ok {
			rest = text
		}
	}
	if result.Outcome == core.CallOutcomeSucceeded {
		result.Value = core.Encode(rest)
	} else {
		result.Code = rest
	}
	c := p.head.Calls[call]
	if !c.WaitsOn(c.Sus) || c.Kind != core.KindChild {
		p.say("child: refused")
		return
	}
	p.signal(c.Sus, core.Signal{Kind: core.SignalChild, Call: call, Value: core.Encode(result)})
}

// below reads "DEPTH [ALLOWANCE]": the run is a child, that many runs below a root, which may cost
// so much.
func (p *scriptPlayer) below(rest string) {
	depth, allowance, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(depth)
	if err != nil {
		p.t.Fatal(err)
	}
	p.head.Parent = &core.Parent{Thread: "thr_p", Run: "run_p_0", Call: "c9", Sus: "sus_1_f1_p", Depth: n}
	if allowance != "" {
		usd, err := core.ParseUSD(allowance)
		if err != nil {
			p.t.Fatal(err)
		}
		p.head.Allowance = int64(usd)
	}
}

// above reads "no longer waits", "is gone", "is well", "interrupts" and "goes on": what is known of
// the runs above, or comes from them.
func (p *scriptPlayer) above(rest string) {
	switch rest {
	case "no longer waits":
		p.ancestors.Disowned = true
	case "is gone":
		p.ancestors.AncestorGone = true
	case "interrupts":
		p.ancestors.ParentPaused = "i9"
		p.signal(core.InterruptKey("i9"), core.Signal{Kind: core.SignalPause, ID: "i9", Via: core.ViaAgent})
	case "interrupts late":
		p.signal(core.InterruptKey("i9"), core.Signal{Kind: core.SignalPause, ID: "i9", Via: core.ViaAgent})
	case "goes on":
		p.ancestors.ParentPaused = ""
		p.signal(core.ContinueKey("i9"), core.Signal{Kind: core.SignalContinue, ID: "i9", Via: core.ViaAgent})
	default:
		p.t.Fatalf("no such act: above %s", rest)
	}
}

// callOf is the call whose suspension an entry of the outbox is about; empty for other entries.
func (p *scriptPlayer) callOf(key string) string {
	_, sus, _ := strings.Cut(key, ":")
	for id, c := range p.head.Calls {
		if sus != "" && c.Sus == sus {
			return id
		}
	}
	return ""
}
