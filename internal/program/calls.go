package program

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/agent/callgraph"
)

// problemsOf are the problems of agents that are served nevertheless, by name.
type problemsOf map[string][]agentfile.Problem

// missingCallees returns the tools of agents that call agents which don't exist, or don't exist for
// all tenants of the caller. others are the agents that exist without a definition that is known.
// Such a caller is served, since its other tools work, and a call of the missing agent fails with
// child_unavailable. The file of the agent may also appear later.
func (a *Agents) missingCallees(loaded []agent.Definition, others []string, files []agentfile.File) problemsOf {
	out := problemsOf{}
	for _, p := range (callgraph.Agents{Defined: loaded, Others: others, Home: a.Home}).Missing() {
		path, line := a.Dir, 1
		if i := slices.IndexFunc(files, func(f agentfile.File) bool { return f.Name == p.Agent }); i >= 0 {
			path, line = files[i].Path, files[i].ToolLine(p.Tool, "agent")
		}
		out[p.Agent] = append(out[p.Agent], agentfile.NewProblem(path, line, p.Text))
	}
	return out
}

// Incomplete returns the problems of agents that are served although some of their calls will fail,
// as the last Serve, Deploy or Reload found them.
func (a *Agents) Incomplete() (problems []agentfile.Problem) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(a.incomplete)) {
		problems = append(problems, a.incomplete[name]...)
	}
	return problems
}

// lookAtCalls finds the agents that are incomplete after a Serve.
func (a *Agents) lookAtCalls(loaded []agent.Definition, files []agentfile.File) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.incomplete = a.missingCallees(loaded, slices.Collect(maps.Keys(a.unavailable)), files)
}

// lookAtCalls finds the agents that are incomplete after a reload, and reports those that were not
// so before it.
func (r *reload) lookAtCalls() {
	r.incomplete = r.agents.missingCallees(r.next, slices.Collect(maps.Keys(r.out)), r.files)
	for _, name := range slices.Sorted(maps.Keys(r.incomplete)) {
		if slices.EqualFunc(r.incomplete[name], r.lacked[name], sameText) {
			continue
		}
		for _, d := range r.next {
			if _, unavailable := r.out[name]; d.Name == name && !unavailable {
				r.changes = append(r.changes, Change{name, Incomplete, d.Digest(), r.incomplete[name]})
			}
		}
	}
	slices.SortStableFunc(r.changes, func(x, y Change) int { return cmp.Compare(x.Name, y.Name) })
}

// sameText leaves out the line, which other changes of the file move.
func sameText(a, b agentfile.Problem) bool { return a.Text == b.Text }
