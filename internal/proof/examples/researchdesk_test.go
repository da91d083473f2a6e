package examples

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/command"
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/model/scripted"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// research are the agents of a directory by name.
func research(t *testing.T, dir string) map[string]agent.Definition {
	t.Helper()
	loaded, err := agentfile.Load(dir)
	if err != nil || len(loaded) != 2 {
		t.Fatalf("%d agents, %v", len(loaded), err)
	}
	agents := map[string]agent.Definition{}
	for _, d := range loaded {
		agents[d.Name] = d
	}
	return agents
}

func TestTheConversationsOfTheResearchDeskHold(t *testing.T) {
	var out, errs bytes.Buffer
	code := command.Run(t.Context(), dormouse.Program{}, []string{"agents", "test", example("research-desk")}, strings.NewReader(""), &out, &errs)
	if code != 0 || !strings.HasSuffix(out.String(), "6 tests: OK\n") {
		t.Errorf("exit code %d\n%s\n%s", code, out.String(), errs.String())
	}
}

// brief asks the desk, answers the one question of its researchers at the planner's run, and
// returns that run when it is done.
func brief(t *testing.T, c *client.Client, action string) (wire.Run, wire.Pending) {
	t.Helper()
	started, err := c.StartRun(t.Context(), wire.StartRequest{Agent: "research-desk", Input: core.Encode("Should we launch canned cold brew in Denmark next spring?")}, "k1")
	if err != nil {
		t.Fatal(err)
	}
	run, err := c.WaitRun(t.Context(), started.ID)
	if err != nil || run.Status != "waiting" || len(run.Pending) != 1 {
		t.Fatalf("the run is %s, %+v, %v", run.Status, run.Pending, err)
	}
	asked := run.Pending[0]
	if _, err := c.Decide(t.Context(), run.ID, wire.Decision{Target: asked.Suspension.ID, Action: action}); err != nil {
		t.Fatal(err)
	}
	for run.Status != "done" {
		if run, err = c.PollRun(t.Context(), run.ID, 20*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	return run, asked
}

func TestTheBriefWaitsForAnApprovalInsideAResearcher(t *testing.T) {
	for action, want := range map[string]string{"resume": `"recommendation":"launch"`, "cancel": `"recommendation":"pilot"`} {
		t.Run(action, func(t *testing.T) {
			c := serve(t, local.Options{Agents: example("research-desk")})
			run, asked := brief(t, c, action)
			if asked.Tool != "buy_report" || string(asked.Arguments) != `{"price":240,"report":"NRD-310"}` || len(asked.Path) != 1 || asked.Path[0].Agent != "researcher" {
				t.Errorf("asked for %s %s at %+v", asked.Tool, asked.Arguments, asked.Path)
			}
			if !strings.Contains(string(run.Output), want) || run.Usage.Total == nil || run.Usage.Total.Runs != 4 {
				t.Errorf("the output is %s, want %s; usage %+v", run.Output, want, run.Usage)
			}
		})
	}
}

// TestTheResearchDeskWithAModelDiffersInItsModelsAlone: what a reader has seen offline holds with
// a real model.
func TestTheResearchDeskWithAModelDiffersInItsModelsAlone(t *testing.T) {
	offline, real := research(t, example("research-desk")), research(t, example("research-desk", "with-a-model"))
	if diff := cmp.Diff(offline, real, cmpopts.IgnoreFields(agent.Definition{}, "Model", "Budget")); diff != "" {
		t.Errorf("offline and with a model (-offline +model):\n%s", diff)
	}
}

// TestTheResearchDeskWithAModel has a fake Bedrock, which says what the scripts say.
func TestTheResearchDeskWithAModel(t *testing.T) {
	agents := research(t, example("research-desk"))
	answer := func(asked modeldouble.Asked) modeldouble.Said {
		name := "research-desk"
		if strings.Contains(asked.Model, "haiku") {
			name = "researcher"
		}
		model, err := scripted.New(name, agents[name].Model.Turns)
		if err != nil {
			t.Error(err)
			return modeldouble.Said{}
		}
		turn, err := model.Ask(t.Context(), engine.Prompt{Messages: asked.Messages})
		if err != nil {
			t.Error(err)
		}
		turn.InputTokens, turn.OutputTokens = 1000, 200
		return modeldouble.Said{Turn: turn}
	}
	endpoint := httptest.NewServer(modeldouble.Bedrock(answer))
	defer endpoint.Close()
	account(t, endpoint.URL)
	logger := slog.New(slog.DiscardHandler)
	c := serve(t, local.Options{Agents: example("research-desk", "with-a-model"), Logger: logger,
		Outside: local.Outside{Models: map[string]program.Provider{agent.ProviderBedrock: awscli.NewAccount(logger, nil).Bedrock}}})
	run, _ := brief(t, c, "resume")
	var output struct{ Recommendation, Brief string }
	if err := json.Unmarshal(run.Output, &output); err != nil || output.Recommendation != "launch" || !strings.Contains(output.Brief, "DKK 410 million") {
		t.Errorf("the output is %s (%v); the run %+v", run.Output, err, run)
	}
	// two steps of the planner for $0.006 each, eight of the researchers for $0.002
	want := &wire.TreeUsage{Runs: 4, InputTokens: 10_000, OutputTokens: 2000, Cost: &wire.Cost{USD: "0.028"}}
	if diff := cmp.Diff(want, run.Usage.Total); diff != "" {
		t.Errorf("usage of the tree (-want +got):\n%s", diff)
	}
}
