package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/local"
)

// spoken is what an invocation printed and how it ended.
type spoken struct {
	exit           int
	stdout, stderr string
}

// offline runs a verb that needs no server.
func offline(ctx context.Context, stdin string, args ...string) spoken {
	var stdout, stderr bytes.Buffer
	exit := cli.Main(ctx, args, strings.NewReader(stdin), &stdout, &stderr, cmdline.Options{Getenv: func(string) string { return "" }})
	return spoken{exit, stdout.String(), stderr.String()}
}

func (s spoken) want(t *testing.T, exit int, words ...string) {
	t.Helper()
	if s.exit != exit {
		t.Errorf("exit %d, want %d\n%s%s", s.exit, exit, s.stdout, s.stderr)
	}
	contains(t, s.stdout+s.stderr, words...)
}

// message is a line that is good.
func message(key string) string {
	return fmt.Sprintf(`{"idempotency_key":%q,"agent":"desk","input":"go"}`, key)
}

func written(t *testing.T, lines ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "runs.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// inQueue are the counts of a data directory as --dead --json prints them.
func inQueue(t *testing.T, data string, more ...string) (waiting, dead int) {
	t.Helper()
	s := offline(t.Context(), "", append([]string{"enqueue", "--dead", "--json", "--data", data}, more...)...)
	var report struct {
		Waiting, Dead *int
	}
	if err := json.Unmarshal([]byte(s.stdout), &report); err != nil || report.Waiting == nil || report.Dead == nil {
		t.Fatalf("%v\n%+v", err, s)
	}
	return *report.Waiting, *report.Dead
}

func TestEnqueueStoresEveryLine(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	offline(t.Context(), "", "enqueue", written(t, message("a"), "", message("b")), "--data", data).want(t, cmdline.ExitOK, "2 in the intake queue of "+data)
	offline(t.Context(), message("c"), "enqueue", "-", "--data", data, "--tenant", "acme").want(t, cmdline.ExitOK, "1 in")
	s := offline(t.Context(), "", "enqueue", written(t, message("a")), "--data", data, "--json")
	want := map[string]any{"enqueued": 1.0, "bad": 0.0, "tenant": "default", "data": data}
	var got map[string]any
	if err := json.Unmarshal([]byte(s.stdout), &got); err != nil || !cmp.Equal(got, want) || !strings.HasPrefix(s.stderr, `{"warning":{"code":"data_not_served"`) {
		t.Errorf("printed %+v, %v", s, err)
	}
	if waiting, dead := inQueue(t, data); waiting != 3 || dead != 0 {
		t.Errorf("%d wait, %d dead; what is put in twice is there twice", waiting, dead)
	}
	if waiting, _ := inQueue(t, data, "--tenant", "acme"); waiting != 1 {
		t.Errorf("%d of acme wait", waiting)
	}
}

func TestEnqueueStoresNothingIfALineIsBad(t *testing.T) {
	for _, tt := range []struct{ name, line, says string }{
		{"no JSON", `{"idempotency_key":"x"`, "line 2: the body is not one JSON value"},
		{"no key", `{"agent":"desk","input":"go"}`, "line 2: idempotency_key is missing"},
		{"an unknown member", `{"idempotency_key":"x","agent":"desk","input":"go","tenant":"y"}`, `line 2: the field "tenant" is unknown`},
		{"a member twice", `{"idempotency_key":"x","agent":"desk","agent":"b","input":"go"}`, `line 2: the member "agent" occurs twice`},
		{"no UTF-8", "{\"idempotency_key\":\"x\",\"agent\":\"\xff\"}", "line 2: the body is not UTF-8"},
		{"no input", `{"idempotency_key":"x","agent":"desk"}`, "line 2: input is missing"},
		{"a key that is too long", message(strings.Repeat("k", 256)), "line 2: the idempotency key is longer"},
		{"too large", `{"idempotency_key":"x","agent":"desk","input":"` + strings.Repeat("x", 1<<20) + `"}`, "line 2: the message is larger"},
		{"a comma at the end", message("x") + ",", "line 2: the body is not one JSON value; remove the comma"},
		{"a list", "[", "without a list around them"},
		{"a byte order mark", "\ufeff" + message("x"), "byte order mark"},
		{"the key of another line", strings.Replace(message("a"), "go", "stay", 1), "line 2: it has the idempotency_key of line 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			file := written(t, message("a"), tt.line, message("b"))
			offline(t.Context(), "", "enqueue", file, "--data", data).want(t, cmdline.ExitUsage, tt.says, "1 of 3 lines are invalid", "nothing was enqueued", "--keep-going")
			if _, err := os.Stat(data); err == nil {
				t.Error("a data directory was made")
			}
			offline(t.Context(), "", "enqueue", file, "--data", data, "--keep-going").want(t, cmdline.ExitFailed, tt.says, "2 in the intake queue", "skipped")
			if waiting, _ := inQueue(t, data); waiting != 2 {
				t.Errorf("%d wait, want the good two", waiting)
			}
		})
	}
}

func TestEnqueueWritesTheSameBodyInAnotherFormUnderOneKey(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	same := `{ "input":"go", "agent":"desk", "idempotency_key":"a" }`
	offline(t.Context(), message("a")+"\n"+same, "enqueue", "-", "--data", data).want(t, cmdline.ExitOK, "2 in")
}

func TestEnqueueTellsOnlyTheFirstBadLines(t *testing.T) {
	s := offline(t.Context(), strings.Repeat("bad\n", 50), "enqueue", "-", "--data", t.TempDir(), "--json")
	s.want(t, cmdline.ExitUsage, "50 of 50 lines are invalid (the first 20 are listed above)")
	lines := strings.Split(strings.TrimSpace(s.stderr), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	if len(lines) != 21 || s.stdout != "" {
		t.Errorf("%d lines on stderr, stdout %q", len(lines), s.stdout)
	}
}

func TestEnqueueUsage(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{{}, {"a", "b"}, {"a", "--dead"}, {"--dead", "--retry-dead"}, {"--dead", "--keep-going"}, {none},
		{none, "--tenant", ""}, {"--dead", "--data", none}, {"--retry-dead", "--data", none}} {
		if s := offline(t.Context(), "", append([]string{"enqueue"}, args...)...); s.exit != cmdline.ExitUsage || s.stderr == "" {
			t.Errorf("%v: %+v", args, s)
		}
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a data directory was made")
	}
}

func TestEnqueueThatIsInterruptedStoresNothingBeforeAllLinesAreRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	data := filepath.Join(t.TempDir(), "data")
	offline(ctx, message("a"), "enqueue", "-", "--data", data).want(t, cmdline.ExitFailed, "interrupted")
	if _, err := os.Stat(data); err == nil {
		t.Error("a data directory was made")
	}
}

func TestDeadLettersAreShownRetriedAndForgotten(t *testing.T) {
	data, agents := filepath.Join(t.TempDir(), "my data"), t.TempDir()
	offline(t.Context(), message("a"), "enqueue", "-", "--data", data).want(t, cmdline.ExitOK)
	served := serveUntil(t, data, agents, func() bool { _, dead := inQueue(t, data); return dead == 1 })
	served.want(t, cmdline.ExitOK)
	show := []string{"enqueue", "--dead", "--data", data}
	offline(t.Context(), "", show...).want(t, cmdline.ExitOK, "agent_not_found", "no agent named \"desk\" is deployed; check the name", "--retry-dead --data '"+data+"'\n")

	text := "name: desk\nmodel: {provider: scripted, turns: [{say: Done.}]}\n"
	if err := os.WriteFile(filepath.Join(agents, "desk.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	offline(t.Context(), "", "enqueue", "--retry-dead", "--data", data).want(t, cmdline.ExitOK, "1 dead letter put back")
	if waiting, dead := inQueue(t, data); waiting != 1 || dead != 0 {
		t.Errorf("%d wait, %d dead", waiting, dead)
	}
	serveUntil(t, data, agents, func() bool { waiting, _ := inQueue(t, data); return waiting == 0 }).want(t, cmdline.ExitOK)
	if _, dead := inQueue(t, data); dead != 0 {
		t.Errorf("%d dead", dead)
	}
	warned := offline(t.Context(), strings.Replace(message("b"), "desk", "dsk", 1), "enqueue", "-", "--data", data)
	warned.want(t, cmdline.ExitOK, "line 1", `no agent "dsk"`, "it had desk")
	serveUntil(t, data, agents, func() bool { _, dead := inQueue(t, data); return dead == 1 }).want(t, cmdline.ExitOK)
	offline(t.Context(), "", "enqueue", "--forget-dead", "--data", data).want(t, cmdline.ExitOK, "1 dead letter deleted\n")
	offline(t.Context(), "", show...).want(t, cmdline.ExitOK, "dead     0")
}

// The lines are put in beside a server without its word, so that it must not be in the way of one.
func TestEnqueueNeedsNoShareOfTheDirectory(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	queue, err := local.OpenIntake(t.Context(), data, true)
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	offline(t.Context(), message("a"), "enqueue", "-", "--data", data).want(t, cmdline.ExitOK)
	if c, err := queue.Counts(t.Context(), "default"); err != nil || c.Waiting != 1 {
		t.Errorf("counts %+v, %v", c, err)
	}
}
