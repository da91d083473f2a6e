package bench_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/bench/fair"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestASmallTenantIsMeasuredBesideFloods(t *testing.T) {
	t.Setenv(asProgram, "1")
	args := []string{"fair", "--starts", "40", "--decisions", "40", "--due", "40", "--runs", "2", "--hands", "4", "--model", "1ms", "--rounds", "1", "--dir", t.TempDir()}
	text, _ := benched(t, cmdline.ExitOK, append(args, "--json")...)
	var r fair.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	var floods []string
	for i, c := range r.Cases {
		floods = append(floods, c.Flood)
		if c.All.Least <= 0 || (c.Growth == nil) != (i == 0) {
			t.Errorf("%+v", c)
		}
	}
	if got := strings.Join(floods, " "); got != "alone starts decisions due" {
		t.Errorf("got %s", got)
	}
	text, _ = benched(t, cmdline.ExitOK, args...)
	for _, part := range []string{"medians of 1 round\n", "ANSWERED MEANWHILE", "decisions  40"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %s", part, text)
		}
	}
	benched(t, cmdline.ExitUsage, "fair", "--due", "0")
}
