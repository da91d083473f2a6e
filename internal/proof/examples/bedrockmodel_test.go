package examples

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// claims answers as a model would that does what it is told. It speaks past the schema once, as
// models do.
type claims struct {
	mu    sync.Mutex
	asked []modeldouble.Asked
}

func (c *claims) answer(a modeldouble.Asked) modeldouble.Said {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, a)
	results := 0
	for _, m := range a.Messages {
		if m.Role == core.RoleTool {
			results++
		}
	}
	call := func(tool, arguments string) modeldouble.Said {
		return modeldouble.Said{Turn: core.Turn{Calls: []core.ToolCall{{ID: "tooluse_" + tool, Name: tool, Arguments: json.RawMessage(arguments)}}}, Piece: 7}
	}
	switch {
	case results == 0:
		return call("look_up_claim", `{"claim":"C-7"}`)
	case results == 1:
		return call("pay_claim", `{"amount":150.00,"claim":"C-7"}`)
	case len(c.asked) == 3:
		return modeldouble.Said{Turn: core.Turn{Text: "I paid 150."}}
	}
	return modeldouble.Said{Turn: core.Turn{Text: `{"claim":"C-7","paid":150.00,"note":"150 is on its way to you."}`}, Piece: 7}
}

// account makes this process's AWS one whose Bedrock is the double.
func account(t *testing.T, endpoint string) {
	t.Helper()
	for _, name := range os.Environ() {
		if name, _, _ = strings.Cut(name, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": endpoint} {
		t.Setenv(name, value)
	}
}

func TestAClaimIsPaidOnceAPersonAgreesAndTheAnswerHasItsForm(t *testing.T) {
	double := &claims{}
	endpoint := httptest.NewServer(modeldouble.Bedrock(double.answer))
	defer endpoint.Close()
	account(t, endpoint.URL)
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	c := serve(t, local.Options{Agents: example("bedrock-model"), Logger: logger, Outside: local.Outside{Models: map[string]program.Provider{agent.ProviderBedrock: awscli.NewAccount(logger, nil).Bedrock}}})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.String())
		}
	})
	shown, err := c.Agents(t.Context())
	if err != nil || len(shown) != 1 || shown[0].Model != "bedrock eu.anthropic.claude-sonnet-4-5-20250929-v1:0" {
		t.Fatalf("%+v, %v", shown, err)
	}
	started, err := c.StartRun(t.Context(), wire.StartRequest{Agent: "bedrock-model", Input: json.RawMessage(`"What about claim C-7?"`)}, "k1")
	if err != nil {
		t.Fatal(err)
	}
	run := settled(t, c, started.ID)
	if run.Status != "waiting" || len(run.Pending) != 1 || run.Pending[0].Tool != "pay_claim" || string(run.Pending[0].Arguments) != `{"amount":150.00,"claim":"C-7"}` {
		t.Fatalf("the run is %s, %+v", run.Status, run.Pending)
	}
	if _, err := c.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume"}); err != nil {
		t.Fatal(err)
	}
	run = settled(t, c, started.ID)
	if run.Status != "done" {
		t.Fatalf("the run is %s: %+v", run.Status, run)
	}
	var text string
	var answer struct {
		Claim, Note string
		Paid        json.Number
	}
	if err := json.Unmarshal(run.Output, &text); err != nil {
		t.Fatalf("%s: %v", run.Output, err)
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Claim != "C-7" || answer.Paid != "150.00" {
		t.Errorf("the output is %s (%v)", run.Output, err)
	}
	double.mu.Lock()
	defer double.mu.Unlock()
	first := double.asked[0]
	if diff := cmp.Diff("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", first.Model); diff != "" || len(double.asked) < 4 || len(first.Tools) != 2 {
		t.Errorf("%d requests, the first has %d tools and asks for (-want +got):\n%s", len(double.asked), len(first.Tools), diff)
	}
}
