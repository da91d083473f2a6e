package examples

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// ferry answers as a model would that does what it is told, and keeps what it was asked.
type ferry struct {
	mu    sync.Mutex
	asked []modeldouble.Asked
}

func (f *ferry) answer(a modeldouble.Asked) modeldouble.Said {
	f.mu.Lock()
	f.asked = append(f.asked, a)
	f.mu.Unlock()
	var results []core.Message
	for _, m := range a.Messages {
		if m.Role == core.RoleTool {
			results = append(results, m)
		}
	}
	call := func(tool string) modeldouble.Said {
		arguments := json.RawMessage(`{"booking":"F-12"}`)
		return modeldouble.Said{Turn: core.Turn{Text: "One moment.", Calls: []core.ToolCall{{ID: "call_" + tool, Name: tool, Arguments: arguments}}}, Piece: 5}
	}
	switch {
	case len(results) == 0:
		return call("look_up_booking")
	case len(results) == 1:
		return call("cancel_booking")
	case strings.Contains(results[1].Text(), "cancelled"):
		return modeldouble.Said{Turn: core.Turn{Text: "Booking F-12 is cancelled, and 155 comes back to you."}, Piece: 5}
	}
	return modeldouble.Said{Turn: core.Turn{Text: "Booking F-12 stays as it is."}, Piece: 5}
}

// serveFerry runs the agent, its endpoint exchanged for the double's.
func serveFerry(t *testing.T, f *ferry) *client.Client {
	t.Helper()
	endpoint := httptest.NewServer(modeldouble.OpenAI(f.answer))
	t.Cleanup(endpoint.Close)
	text, err := os.ReadFile(example("local-model", "local-model.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const here = "http://127.0.0.1:11434/v1"
	if strings.Count(string(text), here) != 1 {
		t.Fatalf("the agent does not ask %s", here)
	}
	agents := t.TempDir()
	if err := os.WriteFile(filepath.Join(agents, "local-model.yaml"), []byte(strings.Replace(string(text), here, endpoint.URL+"/v1", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	allowed, err := netguard.ReadPrivate([]string{strings.TrimPrefix(endpoint.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, local.Options{Agents: agents, Private: allowed})
}

func TestABookingIsCancelledOnceAPersonAgrees(t *testing.T) {
	for action, want := range map[string]string{"resume": "Booking F-12 is cancelled, and 155 comes back to you.", "cancel": "Booking F-12 stays as it is."} {
		t.Run(action, func(t *testing.T) {
			f := &ferry{}
			c := serveFerry(t, f)
			started, err := c.StartRun(t.Context(), wire.StartRequest{Agent: "local-model", Input: json.RawMessage(`"Please cancel F-12"`)}, "k1")
			if err != nil {
				t.Fatal(err)
			}
			run := settled(t, c, started.ID)
			if run.Status != "waiting" || len(run.Pending) != 1 || run.Pending[0].Tool != "cancel_booking" {
				t.Fatalf("the run is %s, %+v", run.Status, run.Pending)
			}
			if _, err := c.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: action}); err != nil {
				t.Fatal(err)
			}
			run = settled(t, c, started.ID)
			if got := string(run.Output); run.Status != "done" || !strings.Contains(got, want) {
				t.Errorf("the run is %s with %s, want %q", run.Status, got, want)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			first := f.asked[0]
			if len(f.asked) != 3 || first.Model != "qwen3:8b" || !first.Stream || len(first.Tools) != 2 || !strings.Contains(first.System, "ferry line") {
				t.Errorf("%d requests, the first is %+v", len(f.asked), first)
			}
		})
	}
}
