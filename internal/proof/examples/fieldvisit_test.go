package examples

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/local"
)

// serveVisit runs the agent until the test ends, with within as the technician's time.
func serveVisit(t *testing.T, within string) *client.Client {
	t.Helper()
	agents := t.TempDir()
	if err := os.CopyFS(agents, os.DirFS(example("field-visit"))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(agents, "field-visit.yaml")
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), "within: 2h") != 1 {
		t.Fatalf("the agent gives two hours in one place: %v", err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "within: 2h", "within: "+within, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return serve(t, local.Options{Agents: agents})
}

// reaches reads the run once it has the status.
func reaches(t *testing.T, c *client.Client, id, status string) wire.Run {
	t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for ; ; <-look.C {
		run, err := c.Run(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if run.Status == status {
			return run
		}
		if run.Status == "done" { // and stays so
			t.Fatalf("run %s does not get %s: %+v", id, status, run)
		}
	}
}

func visit(t *testing.T, c *client.Client, meter string) wire.Run {
	t.Helper()
	input := core.Encode("Read meter " + meter + " at 12 Harbour Street")
	run, err := c.StartRun(t.Context(), wire.StartRequest{Agent: "field-visit", Input: input}, "")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func wantOutput(t *testing.T, run wire.Run, want string) {
	t.Helper()
	if got, err := core.Canonical(run.Output); err != nil || string(got) != want {
		t.Errorf("output %s (%v), want %s; the run: %+v", run.Output, err, want, run)
	}
}

func TestTheTechnicianHasTwoHoursAndAForm(t *testing.T) {
	c := serveVisit(t, "2h")
	run := reaches(t, c, visit(t, c, "M-204").ID, "waiting")
	p := run.Pending[0]
	if p.Kind != "client" || p.Tool != "read_meter" || p.Deadline == nil || p.Deadline.Sub(run.UpdatedAt.Time).Round(time.Minute) != 2*time.Hour {
		t.Errorf("pending %+v", p)
	}
	_, err := c.Decide(t.Context(), run.ID, wire.Decision{Target: p.Suspension.ID, Result: json.RawMessage(`{"kwh":"many"}`)})
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Code != "schema_mismatch" {
		t.Errorf("an answer of another form: %v", err)
	}
	if _, err := c.Decide(t.Context(), run.ID, wire.Decision{Target: p.Suspension.ID, Result: json.RawMessage(`{"kwh":18230}`)}); err != nil {
		t.Fatal(err)
	}
	wantOutput(t, reaches(t, c, run.ID, "done"), `{"estimated":false,"kwh":18230,"meter":"M-204"}`)
}

func TestATechnicianWhoCannotReadItLeavesItToTheEstimate(t *testing.T) {
	c := serveVisit(t, "2h")
	run := reaches(t, c, visit(t, c, "M-204").ID, "waiting")
	if _, err := c.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Error: "nobody is at home"}); err != nil {
		t.Fatal(err)
	}
	wantOutput(t, reaches(t, c, run.ID, "done"), `{"estimated":true,"kwh":18190,"meter":"M-204"}`)
}

func TestAfterTheDeadlineItGoesOnByItself(t *testing.T) {
	c := serveVisit(t, "1s")
	known, unknown := visit(t, c, "M-204"), visit(t, c, "M-9")
	wantOutput(t, reaches(t, c, known.ID, "done"), `{"estimated":true,"kwh":18190,"meter":"M-204"}`)
	wantOutput(t, reaches(t, c, unknown.ID, "done"), `{"estimated":false,"meter":"M-9","note":"there is no reading and no estimate"}`)
}
