package agents

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/agent/callgraph"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// calls reports tools of the agents whose calls of other agents cannot work, and notes those that
// make a limited cost unknown. An agent calls those of its directory, so the other files there are
// read, too. Their own problems are not reported.
func calls(agents []agentfile.Surveyed) (problems []agentfile.Problem, notes []note, err error) {
	var dirs []string
	for _, d := range agents {
		if dir := filepath.Dir(d.File); callsAgents(d.Definition) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		files, err := agentfile.ReadFiles(dir)
		if err != nil {
			return nil, nil, err
		}
		defined, unreadable := agentfile.Sort(files)
		all := callgraph.Agents{Defined: defined, Home: access.Tenant}
		for _, u := range unreadable {
			all.Others = append(all.Others, u.Name)
		}
		here := slices.DeleteFunc(slices.Clone(agents), func(d agentfile.Surveyed) bool { return filepath.Dir(d.File) != dir })
		problems = append(problems, callsAmong(here, all)...)
		for _, p := range all.Unpriced() {
			if i := slices.IndexFunc(here, func(d agentfile.Surveyed) bool { return d.Name == p.Agent }); i >= 0 {
				notes = append(notes, note{here[i].File, p.Text})
			}
		}
	}
	return problems, notes, nil
}

func callsAgents(d agent.Definition) bool {
	return slices.ContainsFunc(d.Tools, func(t agent.Tool) bool { return t.Agent != nil && t.Agent.A2A == nil })
}

// callsAmong reports the problems of some agents that call each other and all others.
func callsAmong(agents []agentfile.Surveyed, all callgraph.Agents) (problems []agentfile.Problem) {
	found := all.Check()
	for _, d := range agents {
		for _, p := range found {
			if p.Agent == d.Name {
				_, line := d.ToolMember(p.Tool, "agent")
				problems = append(problems, agentfile.NewProblem(d.File, line, p.Text))
			}
		}
	}
	return problems
}

// deployedCalls reports the problems of agents that are deployed to a tenant which keeps those
// others. The files of the directory that are not deployed don't count.
func deployedCalls(agents []agentfile.Surveyed, kept []engine.Definition, tenant string) []agentfile.Problem {
	all := callgraph.Agents{Home: tenant}
	for _, d := range agents {
		all.Defined = append(all.Defined, d.Definition)
	}
	for _, stored := range kept {
		d, err := agent.Decode(stored.Body)
		switch {
		case slices.ContainsFunc(agents, func(d agentfile.Surveyed) bool { return d.Name == stored.Name }):
		case err != nil: // a newer program wrote it
			all.Others = append(all.Others, stored.Name)
		default:
			all.Defined = append(all.Defined, d)
		}
	}
	return callsAmong(agents, all)
}

// byPlace sorts problems by file and line.
func byPlace(problems []agentfile.Problem) {
	slices.SortStableFunc(problems, func(x, y agentfile.Problem) int { return cmp.Or(cmp.Compare(x.File, y.File), x.Line-y.Line) })
}
