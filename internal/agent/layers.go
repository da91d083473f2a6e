package agent

import (
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Layers are what may take rights from a run beside the definition it is pinned to. None of them can add any: of Deployed, the version
// deployed now, only what it blocks and denies counts; of Policy, which is over all agents, and of Narrow, the run's own
// permissions, only what their block, deny and ask rules match. nil for none.
type Layers struct {
	Deployed *Definition
	Policy   *Permissions
	Narrow   *Permissions
}

// gatekeeper holds a definition and its layers ready to judge calls.
type gatekeeper struct {
	pinned   Definition
	layers   Layers
	own      lists
	deployed *lists
	narrower []lists // policy and the run's own
}

func newGatekeeper(d Definition, layers Layers) gatekeeper {
	g := gatekeeper{pinned: d, layers: layers, own: d.Permissions.ready()}
	if layers.Deployed != nil {
		l := layers.Deployed.Permissions.ready()
		g.deployed = &l
	}
	for _, p := range []*Permissions{layers.Policy, layers.Narrow} {
		if p != nil {
			g.narrower = append(g.narrower, p.ready())
		}
	}
	return g
}

// judge is the strictest of what the definition and the layers say; of several that refuse alike, the definition's reason counts,
// then the policy's. Of those that ask, every reason is shown.
func (g gatekeeper) judge(tool string, args arguments) core.Verdict {
	if tool == core.FinishTool && g.pinned.Finish != nil {
		return g.judgeFinish(args)
	}
	opinions := []opinion{g.pinned.opinion(g.own, tool, args)}
	for _, l := range g.narrower {
		opinions = append(opinions, l.narrowing(tool, args))
	}
	if g.deployed != nil {
		opinions = append(opinions, refusalOnly(g.deployed.opinion(tool, args)))
	}
	strictest := opinions[0].Verdict
	for _, o := range opinions[1:] {
		strictest = core.Stricter(strictest, o.Verdict)
	}
	if strictest.Effect != core.Ask {
		return strictest
	}
	return askOnce(tool, opinions)
}

// judgeFinish: ending a run is always allowed unless a rule says otherwise in so many words. Nobody is asked about it.
func (g gatekeeper) judgeFinish(args arguments) core.Verdict {
	verdict := core.Verdict{Effect: core.Allow}
	all := append([]lists{g.own}, g.narrower...)
	if g.deployed != nil {
		all = append(all, *g.deployed)
	}
	for _, l := range all {
		if v, refused := l.refusal(core.FinishTool, args); refused {
			verdict = core.Stricter(verdict, v)
		}
	}
	return verdict
}

func refusalOnly(o opinion) opinion {
	if o.Effect == core.Deny || o.Effect == core.Block {
		return o
	}
	return opinion{Verdict: core.Verdict{Effect: core.Allow}}
}

// askOnce joins those that ask into one question. How the decision becomes a result is the definition's to say, which is the first
// of them and knows its tools.
func askOnce(tool string, opinions []opinion) core.Verdict {
	v := core.Verdict{Effect: core.Ask, Mode: opinions[0].Mode, Grant: grantKey(tool, opinions)}
	var reasons []string
	for _, o := range opinions {
		if o.Effect == core.Ask && o.Reason != "" && !slices.Contains(reasons, o.Reason) {
			reasons = append(reasons, o.Reason)
		}
	}
	v.Reason = strings.Join(reasons, " ")
	return v
}

// refusesAlways says whether no call of the tool can ever run.
func (g gatekeeper) refusesAlways(tool string) bool {
	all := []Permissions{g.pinned.Permissions}
	if g.layers.Deployed != nil {
		all = append(all, g.layers.Deployed.Permissions)
	}
	for _, p := range []*Permissions{g.layers.Policy, g.layers.Narrow} {
		if p != nil {
			all = append(all, Permissions{Block: p.Block, Deny: p.Deny})
		}
	}
	for _, p := range all {
		if _, always := p.refusesAlways(tool); always {
			return true
		}
	}
	return false
}

// Permission is what the definition says of a tool in one word for a person: allow, ask, deny, block, or conditional if it
// depends on the arguments.
func (d Definition) Permission(tool string) string {
	p := d.Permissions
	if e, always := p.refusesAlways(tool); always {
		return e.String()
	}
	rules := [][]Rule{p.Block, p.Deny, p.Ask, p.Allow}
	if tool == core.FinishTool && d.Finish != nil {
		rules = rules[:2]
	}
	for _, list := range rules {
		for _, r := range list {
			if len(r.When) > 0 && r.names(tool) {
				return "conditional"
			}
		}
	}
	return newGatekeeper(d, Layers{}).judge(tool, nil).Effect.String()
}

// opinion is that of this definition alone. Whoever runs a client tool decides for itself whether to, so the default does
// not ask for one.
func (d Definition) opinion(own lists, tool string, args arguments) opinion {
	o := own.opinion(tool, args)
	if t, _ := d.tool(tool); o.Effect == core.Ask && t.Client {
		if _, gated := d.Permissions.asksFor(tool); !gated {
			return opinion{Verdict: core.Verdict{Effect: core.Allow}}
		}
	}
	return o
}
