package torture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheLineThatSumsUp(t *testing.T) {
	held := Report{Held: true, Kills: 300, Count: Count{Runs: 2140, Decisions: 5311, Messages: 804, Cancels: 12}, Seconds: 96.2}
	broken := Report{Count: Count{Runs: 7}, Violations: make([]Violation, 1234), Seconds: 0.4}
	for _, tt := range []struct {
		report Report
		want   string
	}{
		{held, "300 kills, 2,140 runs, 5,311 decisions, 804 messages, 12 cancels acknowledged: all there, none twice (96 s)"},
		{broken, "7 runs, 0 decisions, 0 messages, 0 cancels acknowledged: 1,234 violations (0 s)"},
	} {
		if got := tt.report.Line(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestOnlySomeViolationsAreToldOneByOne(t *testing.T) {
	var out strings.Builder
	if err := (Report{Violations: append(make([]Violation, shown+2), Violation{Rule: "another"})}).Print(&out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "violated: ") != shown || !strings.Contains(text, "... and 3 more\n") || !strings.Contains(text, "violated: another\n") {
		t.Error(text)
	}
}

func TestALedgerIsReadUpToTheLineThatIsBeingWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	if effects, err := ReadLedger(file); err != nil || len(effects) != 0 {
		t.Fatalf("a ledger that is not there: %v, %v", effects, err)
	}
	text := `{"key":"run_a_0/call_1/1","order":"A-17","amount":5}` + "\n" + `{"key":"run_a_0/call_2/3","order":"B-`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	effects, err := ReadLedger(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []Effect{{Key: "run_a_0/call_1/1", Arguments: []byte(`{"amount":5,"order":"A-17"}`)}}
	if diff := cmp.Diff(want, effects); diff != "" {
		t.Error(diff)
	}
	if _, there, _ := effectOf(file, "run_a_0", "call_2"); there {
		t.Error("an effect that was not written")
	}
	if e, there, _ := effectOf(file, "run_a_0", "call_1"); !there || e.Key != effects[0].Key {
		t.Errorf("%+v, %v", e, there)
	}
	if err := os.WriteFile(file, []byte("no JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLedger(file); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Error(err)
	}
}
