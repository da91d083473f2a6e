package callgraph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/callgraph"
)

// agents reads lines such as "a(2) [acme] -> b c": an agent, its max_depth, its tenants and the
// agents that it calls, those elsewhere as "a2a:" and a host.
func agents(lines ...string) callgraph.Agents {
	a := callgraph.Agents{Home: "home"}
	for _, line := range lines {
		left, right, _ := strings.Cut(line, " -> ")
		words := strings.Fields(left)
		d := agent.Definition{Name: words[0]}
		if name, limit, limited := strings.Cut(strings.TrimSuffix(words[0], ")"), "("); limited {
			d.Name = name
			_, _ = fmt.Sscan(limit, &d.MaxDepth)
		}
		if len(words) > 1 {
			d.Tenants = strings.Split(strings.Trim(words[1], "[]"), ",")
		}
		for _, callee := range strings.Fields(right) {
			to := agent.Callee{Name: callee}
			if host, elsewhere := strings.CutPrefix(callee, "a2a:"); elsewhere {
				to = agent.Callee{A2A: &agent.A2A{URL: "https://" + host + "/card"}}
			}
			d.Tools = append(d.Tools, agent.Tool{Name: "to_" + callee, Agent: &to})
		}
		a.Defined = append(a.Defined, d)
	}
	return a
}

// found are the problems, one a line.
func found(problems []callgraph.Problem) (lines []string) {
	for _, p := range problems {
		lines = append(lines, p.Agent+" "+p.Tool+": "+p.Text)
	}
	return lines
}

func TestCallsThatCannotWorkAreFound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files callgraph.Agents
		want  []string
	}{
		{"nothing is called", agents("a", "b"), nil},
		{"a desk", agents("a -> b c", "b -> c", "c"), nil},
		{"agents elsewhere", agents("a -> a2a:a a2a:b c", "c -> a2a:a"), nil},
		{"an agent elsewhere that is too deep", agents("a(1) -> b", "b -> a2a:reviews.example.com"), []string{
			"b to_a2a:reviews.example.com: in the chain a -> b -> a2a:reviews.example.com this call is number 2, and max_depth allows fewer, so it always fails; set max_depth: 2 in a, or call fewer agents in a row"}},
		{"as deep as the default allows", agents("a -> b", "b -> c", "c -> d", "d -> e", "e"), nil},
		{"one deeper", agents("a -> b", "b -> c", "c -> d", "d -> e", "e -> f", "f"), []string{
			"e to_f: in the chain a -> b -> c -> d -> e -> f this call is number 5, and max_depth allows fewer, so it always fails; set max_depth: 5 in a, b, c, d, e, or call fewer agents in a row"}},
		{"one deeper, as all of them say", agents("a(5) -> b", "b(5) -> c", "c(5) -> d", "d(6) -> e", "e(8) -> f", "f"), nil},
		{"the least counts", agents("a(8) -> b", "b(1) -> c", "c(8)"), []string{
			"b to_c: in the chain a -> b -> c this call is number 2, and max_depth allows fewer, so it always fails; set max_depth: 2 in b, or call fewer agents in a row"}},
		{"two ways to one call", agents("a(2) -> b c", "b -> c", "c -> d", "d"), []string{
			"c to_d: in the chain a -> b -> c -> d this call is number 3, and max_depth allows fewer, so it always fails; set max_depth: 3 in a, or call fewer agents in a row"}},
		{"deeper than any limit", agents("a(8) -> b", "b(8) -> c", "c(8) -> d", "d(8) -> e", "e(8) -> f", "f(8) -> g", "g(8) -> h", "h(8) -> i", "i(8) -> j", "j"), []string{
			"i to_j: in the chain a -> b -> c -> d -> e -> f -> g -> h -> i -> j this call is number 9, and max_depth allows fewer, so it always fails; call fewer agents in a row; no max_depth allows more than 8"}},
		{"itself", agents("a -> a"), []string{"a to_a: a calls itself; set max_depth if that is intended, or remove the tool"}},
		{"itself, as it says", agents("a(3) -> a"), nil},
		{"a circle", agents("b -> c", "c -> d", "d -> b", "a -> b"), []string{
			"b to_c: b calls itself through c and d; set max_depth in one of these agents if that is intended, or remove the tool"}},
		{"a circle that one of them limits", agents("b -> c", "c(2) -> d", "d -> b", "a -> b"), nil},
		{"a circle beside one that is limited", agents("a -> b c", "b(2) -> a", "c -> a"), []string{
			"a to_c: a calls itself through c; set max_depth in one of these agents if that is intended, or remove the tool"}},
		{"two circles", agents("a -> b", "b -> a", "c -> c"), []string{
			"a to_b: a calls itself through b; set max_depth in one of these agents if that is intended, or remove the tool",
			"c to_c: c calls itself; set max_depth if that is intended, or remove the tool"}},
		{"no agent of that name", agents("a -> reserch b", "b", "research"), []string{
			`a to_reserch: this directory has no agent "reserch"; name one it has (a, b, research), or create it`}},
		{"an agent of another tenant", agents("a -> b c d", "b [acme]", "c [acme,home]", "d [*]"), []string{
			`a to_b: the agent "b" is not for tenant home, who may use a; add them to its tenants`}},
		{"fewer tenants", agents("a [acme,globex] -> b c d", "b [acme]", "c", "d [globex,acme,home]"), []string{
			`a to_b: the agent "b" is not for tenant globex, who may use a; add them to its tenants`,
			`a to_c: the agent "c" is not for tenant acme, tenant globex, who may use a; add them to its tenants`}},
		{"every tenant", agents("a [*] -> b c", "b [*]", "c [acme]"), []string{
			`a to_c: the agent "c" is not for all tenants, who may use a; add them to its tenants`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, found(tt.files.Check())); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAgentWhoseDefinitionIsNotKnownIsThere(t *testing.T) {
	a := agents("a -> b c")
	a.Others = []string{"b"}
	want := []string{`a to_c: this directory has no agent "c"; name one it has (a, b), or create it`}
	if diff := cmp.Diff(want, found(a.Missing())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestManyAgentsAreCheckedAtOnce has ten million chains.
func TestManyAgentsAreCheckedAtOnce(t *testing.T) {
	var lines []string
	for level := range 8 {
		for i := range 10 {
			line := fmt.Sprintf("l%d_%d(8) -> ", level, i)
			for j := range 10 {
				line += fmt.Sprintf("l%d_%d ", level+1, j)
			}
			lines = append(lines, line)
		}
	}
	for i := range 10 {
		lines = append(lines, fmt.Sprintf("l8_%d", i))
	}
	if got := found(agents(lines...).Check()); got != nil {
		t.Error(got)
	}
}
