package bench_test

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/sleepers"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// asProgram makes this test binary the program that the benchmark starts as a server.
const asProgram = "DORMOUSE_BENCH_TEST_SERVES"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, cmdline.Options{Getenv: func(string) string { return "" }}))
}

func TestWaitingRunsAreMeasured(t *testing.T) {
	t.Setenv(asProgram, "1")
	text, _ := benched(t, cmdline.ExitOK, "sleepers", "--waiting", "1000,1500", "--rounds", "2", "--decisions", "2", "--dir", t.TempDir(), "--json")
	var r sleepers.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Cases) != 2 || r.Cases[0].Growth != nil || r.Cases[1].Growth == nil {
		t.Fatalf("got %s", text)
	}
	for _, c := range r.Cases {
		if c.Decision.Least <= 0 || c.FirstPage.Least <= 0 || c.DeepPage.Least <= 0 || c.Sweep.Least <= 0 || c.Start.Least <= 0 {
			t.Errorf("times of %d waiting runs: %+v", c.Waiting, c)
		}
		if sum := c.Space["segments"] + c.Space["heads"]; sum < 1000 || c.Bytes < sum || c.Bytes > 8000 {
			t.Errorf("%d waiting runs take %.0f bytes each: %v", c.Waiting, c.Bytes, c.Space)
		}
	}
	text, _ = benched(t, cmdline.ExitOK, "sleepers", "--waiting", "1000", "--rounds", "1", "--decisions", "1", "--dir", t.TempDir())
	for _, title := range []string{"warm cache; medians of 1 round\n", "PAGE 100", "HEADS_OLDEST", "1,000 "} {
		if !strings.Contains(text, title) {
			t.Errorf("%q is not in %s", title, text)
		}
	}
}

// TestAColdFileIsReadFromTheDisk: what isn't in the system's cache must be read by the server.
func TestAColdFileIsReadFromTheDisk(t *testing.T) {
	t.Setenv(asProgram, "1")
	code, text := cmdline.ExitOK, "cold cache; medians of 1 round\n"
	if runtime.GOOS != "linux" {
		code, text = cmdline.ExitFailed, "needs Linux"
	}
	stdout, stderr := benched(t, code, "sleepers", "--cold", "--waiting", "1000", "--rounds", "1", "--decisions", "1", "--dir", t.TempDir())
	if !strings.Contains(stdout+stderr, text) {
		t.Error(stdout, stderr)
	}
}

func TestTooFewWaitingRunsAreRefused(t *testing.T) {
	_, stderr := benched(t, cmdline.ExitUsage, "sleepers", "--waiting", "10")
	if !strings.Contains(stderr, "1000") {
		t.Error(stderr)
	}
}
