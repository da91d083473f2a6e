package examples

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/examples/night-shift/nightshift"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/local"
)

// shift is one run; every restart it asks for is answered with the same word.
func shift(t *testing.T, c *client.Client, input, answer string) (run wire.Run, asked int) {
	t.Helper()
	run, err := c.StartRun(t.Context(), wire.StartRequest{Agent: "night-shift", Input: json.RawMessage(input)}, "")
	if err != nil {
		t.Fatal(err)
	}
	for run = settled(t, c, run.ID); run.Status == "waiting"; run = settled(t, c, run.ID) {
		asked++
		p := run.Pending[0]
		if p.Deadline == nil || p.Deadline.Sub(run.UpdatedAt.Time).Round(time.Minute) != 8*time.Hour {
			t.Errorf("a person has until %v", p.Deadline)
		}
		if _, err := c.Decide(t.Context(), run.ID, wire.Decision{Target: p.Suspension.ID, Action: answer}); err != nil {
			t.Fatal(err)
		}
	}
	return run, asked
}

func TestTheShift(t *testing.T) {
	tools, hooks := have(t, nightshift.Program(), t.TempDir())
	c := serve(t, local.Options{Agents: example("night-shift"), Tools: tools, Hooks: hooks})
	for _, tt := range []struct {
		name, input, answer string
		asked               int
		output              string // canonical; "" if the run does not finish
		state, code         string
	}{
		{"a pump that is fine needs nothing", `"Watch pump 1"`, "", 0, `{"pump":1,"restarted":false}`, "no_op", ""},
		{"a restart that helps", `"Watch pump 3"`, "resume", 1, `{"note":"5 bar after the restart","pump":3,"restarted":true}`, "done", ""},
		{"a restart that nobody allows", `"Watch pump 3"`, "cancel", 1,
			`{"note":"the restart was not approved","pump":3,"restarted":false}`, "awaiting_input", ""},
		{"the gate denies a second restart", `"Watch pump 7"`, "resume", 1,
			`{"note":"needs a technician","pump":7,"restarted":true}`, "done", ""},
		{"a sensor without a signal is not read for ever", `"Watch pump 5"`, "", 0, "", "", "loop_detection"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run, asked := shift(t, c, tt.input, tt.answer)
			if run.Status != "done" || asked != tt.asked || run.Code != tt.code {
				t.Errorf("status %s (%s), asked %d times", run.Status, run.Code, asked)
			}
			if got := stateOf(run); got != tt.state {
				t.Errorf("response state %q, want %q", got, tt.state)
			}
			if got, err := core.Canonical(run.Output); tt.output != "" && (err != nil || string(got) != tt.output) {
				t.Errorf("output %s, %v; want %s", run.Output, err, tt.output)
			}
		})
	}
}

func stateOf(run wire.Run) string {
	if run.ResponseState == nil {
		return ""
	}
	return *run.ResponseState
}
