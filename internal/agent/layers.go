package agent

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// Layers are what may take rights from a run beside the definition it is pinned to. None of them
// can add any: of Deployed, the version deployed now, only what it blocks and denies counts; of
// Policy, which is over all agents, and of Narrow, the run's own permissions, only what their
// block, deny and ask rules match. nil for none.
type Layers struct {
	Deployed *Definition
	Policy   *Permissions
	Narrow   *Permissions

	withdrawn *Permissions // see [Definition.withdrawn]
}

// gatekeeper holds a definition and its layers ready to judge calls.
type gatekeeper struct {
	pinned   Definition
	layers   Layers
	own      lists
	deployed *lists
	narrower []lists // policy and the run's own
	subjects map[string]subject
}

func newGatekeeper(d Definition, layers Layers) gatekeeper {
	layers.withdrawn = d.withdrawn(layers.Deployed)
	g := gatekeeper{pinned: d, layers: layers, own: d.Permissions.ready(), subjects: map[string]subject{}}
	for _, t := range d.Tools {
		g.subjects[t.Name] = d.Subject(t.Name)
	}
	if layers.Deployed != nil {
		l := layers.Deployed.Permissions.ready()
		g.deployed = &l
	}
	for _, p := range []*Permissions{layers.Policy, layers.Narrow, layers.withdrawn} {
		if p != nil {
			g.narrower = append(g.narrower, p.ready())
		}
	}
	return g
}

// subject is the tool of the pinned version. Its calls go there even if a later version gives the
// name to another tool.
func (g gatekeeper) subject(tool string) subject {
	if s, ok := g.subjects[tool]; ok {
		return s
	}
	return subject{tool: tool}
}

// all returns the rules of the definition and of all layers. The version that is deployed now only
// adds the rules that refuse.
func (g gatekeeper) all() []lists {
	all := append([]lists{g.own}, g.narrower...)
	if g.deployed != nil {
		all = append(all, lists{block: g.deployed.block, deny: g.deployed.deny})
	}
	return all
}

// command is why the effect's command may not run; false if no rule denies it.
func (g gatekeeper) command(program string) (reason string, denied bool) {
	for _, l := range g.all() {
		for _, m := range l.deny {
			if a, err := ReadAim(m.Target); err == nil && a.runs(program) {
				return refusal(core.Deny, "the command "+program, m.Reason).Reason, true
			}
		}
	}
	return "", false
}

// judge is the strictest of what the definition and the layers say; of several that refuse alike,
// the definition's reason counts, then the policy's. Of those that ask, every reason is shown.
func (g gatekeeper) judge(tool string, args arguments) core.Verdict {
	if tool == core.FinishTool && g.pinned.Finish != nil {
		return g.judgeFinish(args)
	}
	s := g.subject(tool)
	opinions := []opinion{g.pinned.opinion(g.own, s, args)}
	for _, l := range g.narrower {
		opinions = append(opinions, l.narrowing(s, args))
	}
	if g.deployed != nil {
		opinions = append(opinions, refusalOnly(g.deployed.opinion(s, args)))
	}
	strictest := opinions[0].Verdict
	for _, o := range opinions[1:] {
		strictest = core.Stricter(strictest, o.Verdict)
	}
	if strictest.Effect != core.Ask {
		return strictest
	}
	return g.askOnce(tool, opinions)
}

// judgeFinish allows a run to end unless a block or deny rule matches the finish tool. The default
// effect doesn't count, and no person is asked.
func (g gatekeeper) judgeFinish(args arguments) core.Verdict {
	verdict := core.Verdict{Effect: core.Allow}
	for _, l := range g.all() {
		if v, refused := l.refusal(subject{tool: core.FinishTool}, args); refused {
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

// askOnce joins those that ask into one question. How the decision becomes a result is the
// definition's to say, which is the first of them and knows its tools. Each rule that asks has its
// policy, or else the definition's: no rule takes away who must decide because of another. A yes by
// silence is the definition's own: who else asks, wants an answer.
func (g gatekeeper) askOnce(tool string, opinions []opinion) core.Verdict {
	v := core.Verdict{Effect: core.Ask, Mode: opinions[0].Mode, Grant: grantKey(tool, opinions)}
	var reasons []string
	if t, _ := g.pinned.Tool(tool); t.Supplied {
		reasons = append(reasons, BySender)
	}
	for i, o := range opinions {
		usual := g.pinned.Approval
		if i > 0 {
			usual = usual.WithoutSilence()
		}
		if o.Effect == core.Ask && len(o.asks) == 0 {
			v.Policy = vote.Join(v.Policy, usual)
		}
		for _, r := range o.asks {
			v.NotBy, v.Policy = cmp.Or(v.NotBy, r.NotBy), vote.Join(v.Policy, cmp.Or(r.Approval, usual))
		}
		if o.Effect == core.Ask && o.Reason != "" && !slices.Contains(reasons, o.Reason) {
			reasons = append(reasons, o.Reason)
		}
	}
	v.Reason = strings.Join(reasons, " ")
	return v
}

// refusesAlways says whether no call of the tool can ever run.
func (g gatekeeper) refusesAlways(tool string) bool {
	s := g.subject(tool)
	all := []Permissions{g.pinned.Permissions}
	if g.layers.Deployed != nil {
		all = append(all, g.layers.Deployed.Permissions)
	}
	for _, p := range []*Permissions{g.layers.Policy, g.layers.Narrow, g.layers.withdrawn} {
		if p != nil {
			all = append(all, Permissions{Block: p.Block, Deny: p.Deny})
		}
	}
	for _, p := range all {
		if _, always := p.RefusesAlways(s); always {
			return true
		}
	}
	return false
}

// Permission is what the definition says of a tool in one word for a person: allow, ask, deny,
// block, or conditional if it depends on the arguments.
func (d Definition) Permission(tool string) string {
	p, s := d.Permissions, d.Subject(tool)
	if e, always := p.RefusesAlways(s); always {
		return e.String()
	}
	rules := [][]Rule{p.Block, p.Deny, p.Ask, p.Allow}
	if tool == core.FinishTool && d.Finish != nil {
		rules = rules[:2]
	}
	for _, list := range rules {
		for _, r := range list {
			if aimed := r.aimed(s, nil); aimed == untold || aimed == Yes && len(r.When) > 0 {
				return "conditional"
			}
		}
	}
	return newGatekeeper(d, Layers{}).judge(tool, nil).Effect.String()
}

// opinion is the verdict of this definition alone. A client decides for itself whether it runs a
// client tool, so the default effect doesn't ask about one.
func (d Definition) opinion(own lists, s subject, args arguments) opinion {
	o := own.opinion(s, args)
	if t, _ := d.Tool(s.tool); o.Effect == core.Ask && t.Client {
		if _, gated := d.Permissions.AsksFor(s); !gated {
			return opinion{Verdict: core.Verdict{Effect: core.Allow}}
		}
	}
	return o
}
