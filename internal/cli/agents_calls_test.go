package cli_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestCheckFindsCallsOfAgentsThatCannotWork(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/desk.yaml", talker+`tools:
  - {name: research, agent: reserch, input: "{q}"}
  - name: review
    agent: reviewer
    input: "{q}"
    result: output
  - {name: also, agent: reviewer, input: "{q}"}
  - {name: sum, agent: writer, input: "{q}", result: output}
  - {name: broken, agent: broken, input: "{q}"}
`)
	put(t, "agents/research.yaml", talker)
	put(t, "agents/reviewer.yaml", talker+"tools: [{name: again, agent: reviewer, input: '{q}'}]\n")
	put(t, "agents/writer.yaml", talker+"tenants: [acme]\nfinish: true\n")
	put(t, "agents/broken.yaml", talker+"tols: []\n")
	put(t, "agents/a1.yaml", talker+"tools: [{name: n, agent: a2, input: go}]\nmax_depth: 2\n")
	put(t, "agents/a2.yaml", talker+"tools: [{name: n, agent: a3, input: go}]\n")
	put(t, "agents/a3.yaml", talker+"tools: [{name: n, agent: research, input: go}]\n")
	o := checkWith(t)
	o.wantExit(t, cmdline.ExitFailed)
	want := []string{
		`agents/a3.yaml:2: in the chain a1 -> a2 -> a3 -> research this call is number 3, and max_depth allows fewer, so it always fails; set max_depth: 3 in a1, or call fewer agents in a row`,
		`agents/broken.yaml:2: unknown field "tols" in an agent; `,
		`agents/desk.yaml:3: this directory has no agent "reserch"; did you mean "research"? name one it has (a1, a2, a3, broken, desk, research, reviewer, writer), or create it`,
		`agents/desk.yaml:9: the agent "writer" is not for tenant default, who may use desk; add them to its tenants`,
		`agents/reviewer.yaml:2: reviewer calls itself; set max_depth if that is intended, or remove the tool`,
	}
	got := strings.Split(strings.TrimSpace(o.stdout), "\n")
	for i := range got {
		if i < len(want) && strings.HasSuffix(want[i], "; ") { // the rest is of others
			got[i] = got[i][:min(len(want[i]), len(got[i]))]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCheckNotesCallsThatMakeALimitedCostUnknown(t *testing.T) {
	emptyFolder(t)
	const priced = "model: {provider: scripted, price: {input: 1, output: 1}, turns: [{say: hello}]}\n"
	put(t, "agents/desk.yaml", priced+"budget: {cost: {run: 0.5}}\ntools: [{name: research, agent: planner, input: '{q}'}]\n")
	put(t, "agents/planner.yaml", priced+"tools: [{name: read, agent: reader, input: '{q}'}, {name: ask, agent: expert, input: '{q}'}]\n")
	put(t, "agents/reader.yaml", talker)
	put(t, "agents/expert.yaml", "model: {provider: openai, base_url: 'https://m.example.com', model: m1}\n")
	put(t, "agents/other.yaml", talker+"tools: [{name: read, agent: reader, input: '{q}'}]\n")
	o := checkWith(t)
	o.wantExit(t, cmdline.ExitOK)
	contains(t, o.stdout, `agents/desk.yaml: note: the tool research leads to the agent "reader", which has no price: what a run costs isn't known then, so it ends with max_cost; set model.price in reader`+"\n",
		`agents/desk.yaml: note: the tool research leads to the agent "expert", which has no price: what a run costs isn't known then, so it ends with max_cost; set model.price in expert, or list its model in the file of --prices`+"\n")
	if n := strings.Count(o.stdout, "note:"); n != 2 {
		t.Errorf("%d notes:\n%s", n, o.stdout)
	}
	o = checkWith(t, "--strict", "agents/desk.yaml")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stdout, `agents/desk.yaml:1: the tool research leads to the agent "reader"`)
}

// TestCheckOfOneFileLooksAtItsDirectory also sees that only the file's own problems are reported.
func TestCheckOfOneFileLooksAtItsDirectory(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/desk.yaml", talker+"tools: [{name: research, agent: researcher, input: '{q}'}]\n")
	put(t, "agents/other.yaml", talker+"tools: [{name: research, agent: gone, input: '{q}'}]\n")
	put(t, "agents/researcher.yaml", talker)
	o := checkWith(t, "agents/desk.yaml")
	o.wantExit(t, cmdline.ExitOK)
	contains(t, o.stdout, "1 agent: OK")
	o = checkWith(t, "agents/other.yaml")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stdout, `agents/other.yaml:2: this directory has no agent "gone"`)
}

func TestAnAgentThatCallsAMissingOneIsNotDeployed(t *testing.T) {
	_, store := onAWS(t)
	desk := speaker + "tools: [{name: research, agent: researcher, input: '{q}'}]\n"
	dir := agentsDir(t, map[string]string{"desk": desk})
	for _, args := range [][]string{{dir}, {dir, "--keep"}, {dir, "--dry-run"}} {
		out := dormouse(t, nil, append([]string{"agents", "deploy", "--table", "stack"}, args...)...)
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, `desk.yaml:3: this directory has no agent "researcher"`)
		contains(t, out.stderr, "1 problem found; nothing was deployed")
	}
	if there := current(t, store, "default"); len(there) != 0 {
		t.Errorf("deployed %v", there)
	}
	wantChanges(t, deployed(t, agentsDir(t, map[string]string{"researcher": speaker})), `{"researcher":"new"}`)
	wantChanges(t, deployed(t, dir, "--keep"), `{"desk":"new","researcher":"same"}`)
	out := dormouse(t, nil, "agents", "deploy", "--table", "stack", dir)
	out.wantExit(t, cmdline.ExitUsage)
	contains(t, out.stderr, `this directory has no agent "researcher"`)
}
