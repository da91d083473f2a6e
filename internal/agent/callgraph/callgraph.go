// Package callgraph checks which agents call which: what no agent file can show alone.
package callgraph

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Problem is a call that cannot work. Text says why and what to do, as problems of files do.
type Problem struct {
	Agent string // that has the tool
	Tool  string
	Text  string
}

// Agents are the agents of one directory.
type Agents struct {
	Defined []agent.Definition
	// names of other agents that exist, whose definitions are not known
	Others []string
	Home   string // the tenant that deploys them
}

// call is a tool that calls an agent.
type call struct {
	from, tool, to string
}

// elsewhere begins what a call leads to that leaves the directory. No name of an agent has it.
const elsewhere = "a2a:"

func (c call) leaves() bool { return strings.HasPrefix(c.to, elsewhere) }

func (c call) problem(format string, args ...any) Problem {
	return Problem{c.from, c.tool, fmt.Sprintf(format, args...)}
}

// calls are all tools that call agents of the directory, by agent and in the order of its file.
func (a Agents) calls() (calls []call) {
	return slices.DeleteFunc(a.all(), call.leaves)
}

// all are the calls, and those of agents that run elsewhere. Such an agent exists or not whatever
// the files say, and calls none of theirs, but the run that waits for it is one below its caller.
func (a Agents) all() (calls []call) {
	for _, d := range a.Defined {
		for _, t := range d.Tools {
			switch {
			case t.Agent == nil:
			case t.Agent.A2A != nil:
				calls = append(calls, call{d.Name, t.Name, elsewhere + t.Agent.A2A.Host()})
			default:
				calls = append(calls, call{d.Name, t.Name, t.Agent.Name})
			}
		}
	}
	slices.SortStableFunc(calls, func(x, y call) int { return cmp.Compare(x.from, y.from) })
	return calls
}

func (a Agents) byName() map[string]agent.Definition {
	named := map[string]agent.Definition{}
	for _, d := range a.Defined {
		named[d.Name] = d
	}
	return named
}

// Check finds all calls that cannot work, or that could go on forever.
func (a Agents) Check() []Problem {
	return slices.Concat(a.Missing(), a.circles(), a.tooDeep())
}

// Missing finds calls of agents that do not exist, at all or for a tenant that may use the caller.
// Every such call fails with child_unavailable.
func (a Agents) Missing() (problems []Problem) {
	defined := a.byName()
	for _, c := range a.calls() {
		callee, there := defined[c.to]
		switch {
		case !there && slices.Contains(a.Others, c.to):
		case !there:
			have := append(slices.Collect(maps.Keys(defined)), a.Others...)
			slices.Sort(have)
			problems = append(problems, c.problem("this directory has no agent %q; name one it has (%s), or create it", c.to, strings.Join(slices.Compact(have), ", ")))
		default:
			if without := a.without(defined[c.from], callee); len(without) > 0 {
				problems = append(problems, c.problem("the agent %q is not for %s, who may use %s; add them to its tenants", c.to, strings.Join(without, ", "), c.from))
			}
		}
	}
	return problems
}

// without are the tenants who may use the caller and not the callee.
func (a Agents) without(caller, callee agent.Definition) (tenants []string) {
	of := caller.Tenants
	if len(of) == 0 {
		of = []string{a.Home}
	}
	for _, tenant := range of {
		switch {
		case callee.MayBeUsedBy(tenant, a.Home):
		case tenant == agent.AllTenants:
			tenants = append(tenants, "all tenants")
		case tenant == "":
			tenants = append(tenants, "the tenant that deploys it")
		default:
			tenants = append(tenants, "tenant "+tenant)
		}
	}
	return tenants
}

// circles finds agents that call each other, or themselves, although none of them sets max_depth:
// then their author may not know. Each agent is part of at most one problem.
func (a Agents) circles() (problems []Problem) {
	unlimited := map[string][]call{}
	limited := map[string]bool{}
	for _, d := range a.Defined {
		limited[d.Name] = d.MaxDepth > 0
	}
	for _, c := range a.calls() {
		if !limited[c.from] && !limited[c.to] {
			unlimited[c.from] = append(unlimited[c.from], c)
		}
	}
	reported := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(unlimited)) {
		round := shortest(unlimited, name, name)
		if len(round) == 0 || slices.ContainsFunc(round, func(c call) bool { return reported[c.from] }) {
			continue
		}
		for _, c := range round {
			reported[c.from] = true
		}
		through, where := "", ""
		if len(round) > 1 {
			through, where = " through "+strings.Join(callees(round), " and "), " in one of these agents"
		}
		problems = append(problems, round[0].problem("%s calls itself%s; set max_depth%s if that is intended, or remove the tool", name, through, where))
	}
	return problems
}

// shortest is the shortest chain of calls from an agent to another, or round to itself; nil if
// there is none.
func shortest(calls map[string][]call, from, to string) []call {
	chains, seen := [][]call{nil}, map[string]bool{}
	for len(chains) > 0 {
		chain, end := chains[0], from
		chains = chains[1:]
		if len(chain) > 0 {
			end = chain[len(chain)-1].to
		}
		for _, c := range calls[end] {
			longer := append(slices.Clip(chain), c)
			if c.to == to {
				return longer
			}
			if !seen[c.to] {
				seen[c.to] = true
				chains = append(chains, longer)
			}
		}
	}
	return nil
}

// callees are the agents between the ends of a chain.
func callees(chain []call) (names []string) {
	for _, c := range chain[:len(chain)-1] {
		names = append(names, c.to)
	}
	return names
}

// tooDeep finds chains of calls whose last one would always fail, because a run above allows fewer.
// Agents that are part of a circle are left out: with those, the depth is known only at run time.
func (a Agents) tooDeep() (problems []Problem) {
	straight := map[string][]call{}
	all := map[string][]call{}
	for _, c := range a.all() {
		all[c.from] = append(all[c.from], c)
	}
	for from, calls := range all {
		for _, c := range calls {
			if shortest(all, from, from) == nil && shortest(all, c.to, c.to) == nil {
				straight[from] = append(straight[from], c)
			}
		}
	}
	d := deep{calls: straight, limit: map[string]int{}, seen: map[deepCall]bool{}}
	for _, def := range a.Defined {
		d.limit[def.Name] = cmp.Or(def.MaxDepth, core.DefaultDepth)
	}
	for _, name := range slices.Sorted(maps.Keys(straight)) {
		d.follow(name, nil, form.MostDepth)
	}
	return d.problems
}

// deep looks for chains of calls that are too deep.
type deep struct {
	calls    map[string][]call
	limit    map[string]int
	seen     map[deepCall]bool
	problems []Problem
}

// deepCall is a call at the end of a chain of some length that allows some depth. What follows it
// is the same for all such chains.
type deepCall struct {
	call
	depth, least int
}

// follow continues a chain that ends at an agent. least is the least max_depth on it.
func (d *deep) follow(name string, chain []call, least int) {
	least = min(least, d.limit[name])
	for _, c := range d.calls[name] {
		longer := append(slices.Clip(chain), c)
		at := deepCall{c, len(longer), least}
		tooDeep := len(longer) > least
		if tooDeep { // one problem is enough for a call
			at = deepCall{call: c}
		}
		switch {
		case d.seen[at]:
		case tooDeep:
			d.problems = append(d.problems, d.problem(longer))
		default:
			d.follow(c.to, longer, least)
		}
		d.seen[at] = true
	}
}

func (d *deep) problem(chain []call) Problem {
	depth, names, low := len(chain), []string{chain[0].from}, []string{}
	for _, c := range chain {
		names = append(names, c.to)
		if d.limit[c.from] < depth {
			low = append(low, c.from)
		}
	}
	remedy := fmt.Sprintf("set max_depth: %d in %s, or call fewer agents in a row", depth, strings.Join(low, ", "))
	if depth > form.MostDepth {
		remedy = fmt.Sprintf("call fewer agents in a row; no max_depth allows more than %d", form.MostDepth)
	}
	return chain[depth-1].problem("in the chain %s this call is number %d, and max_depth allows fewer, so it always fails; %s", strings.Join(names, " -> "), depth, remedy)
}
