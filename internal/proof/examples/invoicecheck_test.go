package examples

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

// job makes messages of a file of invoices, as the night's job does.
func job(t *testing.T, file string) (lines [][]byte) {
	t.Helper()
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("there is no awk on this machine, which the script needs")
	}
	cmd := exec.CommandContext(t.Context(), "sh", example("invoice-check", "runs.sh"), file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("runs.sh %s: %v\n%s", file, err, stderr.String())
	}
	for line := range bytes.Lines(out) {
		lines = append(lines, bytes.TrimSpace(line))
	}
	return lines
}

// night enqueues the lines and returns what became of each invoice, by the supplier; every payment
// that is asked for gets the same word.
func night(t *testing.T, lines [][]byte, answer string) (verdicts map[string]string, asked int) {
	t.Helper()
	data := t.TempDir()
	queue, err := local.OpenIntake(t.Context(), data, true)
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	for range 2 { // the job was started twice
		if err := queue.Put(t.Context(), "default", lines); err != nil {
			t.Fatal(err)
		}
	}
	c := serve(t, local.Options{Agents: example("invoice-check"), Data: data})
	waitUntil(t, "the queue is empty", func() bool {
		counts, err := queue.Counts(t.Context(), "default")
		return err == nil && counts.Waiting == 0
	})
	page, err := c.RunPage(t.Context(), client.RunFilter{Limit: 100})
	if err != nil || len(page.Items) != len(lines) {
		t.Fatalf("%d runs for %d invoices, %v", len(page.Items), len(lines), err)
	}
	verdicts = map[string]string{}
	for _, run := range page.Items {
		for run = settled(t, c, run.ID); run.Status == "waiting"; run = settled(t, c, run.ID) {
			asked++
			if _, err := c.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: answer}); err != nil {
				t.Fatal(err)
			}
		}
		output, err1 := core.Canonical(run.Output)
		supplier, err2 := core.Canonical(run.Metadata)
		if err := errors.Join(err1, err2); err != nil {
			t.Errorf("run %+v: %v", run, err)
		}
		verdicts[string(supplier)] = string(output)
	}
	return verdicts, asked
}

func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	t.Logf("waiting until %s", what)
	for ; !holds(); <-look.C {
	}
}

func TestANightOfInvoices(t *testing.T) {
	lines := job(t, example("invoice-check", "invoices.csv"))
	for _, tt := range []struct{ answer, large string }{
		{"resume", `{"invoice":"I-1002","verdict":"paid"}`},
		{"cancel", `{"invoice":"I-1002","note":"the payment was not approved","verdict":"held"}`},
	} {
		t.Run(tt.answer, func(t *testing.T) {
			got, asked := night(t, lines, tt.answer)
			want := map[string]string{
				`{"supplier":"Nordic Paper"}`:     `{"invoice":"I-1001","verdict":"paid"}`,
				`{"supplier":"Harbour Cleaning"}`: tt.large,
				`{"supplier":"Print & Sons"}`:     `{"invoice":"I-1003","note":"invoiced 80.00, expected 75","verdict":"flagged"}`,
				`{"supplier":"\"Best\" Coffee"}`:  `{"invoice":"I-1004","note":"there is no order PO-999","verdict":"flagged"}`,
				`{"supplier":"Heating Ltd"}`:      `{"invoice":"I-1005","verdict":"paid"}`,
			}
			if diff := cmp.Diff(want, got); diff != "" || asked != 1 {
				t.Errorf("asked %d times; verdicts (-want +got):\n%s", asked, diff)
			}
		})
	}
}

func TestTheJobWritesMessagesWhateverIsInTheNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "odd.csv")
	text := "number,supplier,order,amount\r\n7,\"O\\Neil\"\t& Søn,PO-501,1\r\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := job(t, file)
	if len(lines) != 1 {
		t.Fatalf("lines %q", lines)
	}
	m, err := intake.Read(lines[0])
	if err != nil || m.IdempotencyKey != "invoice-7" || string(m.Input) != `"Invoice 7 of \"O\\Neil\"\t& Søn: 1 for order PO-501"` {
		t.Errorf("%s is read as %+v, %v", lines[0], m, err)
	}
}

func TestTheJobStopsAtALineThatIsNoInvoice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "broken.csv")
	if err := os.WriteFile(file, []byte("number,supplier,order,amount\n1,Smith, John,PO-1,5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "sh", example("invoice-check", "runs.sh"), file).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "line 2: 5 fields, not 4") {
		t.Errorf("got %v\n%s", err, out)
	}
}
