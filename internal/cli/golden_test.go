package cli_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

var update = flag.Bool("update", false, "write the golden files of this package anew")

// golden holds text to a file under testdata.
func golden(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; if this is new, write it with: go test ./internal/cli -run Golden -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); if it is meant: go test ./internal/cli -run Golden -update\n%s", file, diff)
	}
}

// changing is what is different each time, in the order in which it is replaced.
var changing = []struct {
	form *regexp.Regexp
	word string
}{
	{regexp.MustCompile(`run_[a-z0-9]+_[a-z0-9]+`), "run"}, {regexp.MustCompile(`thr_[a-z0-9]+`), "thr"},
	{regexp.MustCompile(`sus_[0-9a-z]+_[a-z0-9]+_[a-z0-9]+`), "sus"}, {regexp.MustCompile(`dec_[0-9a-f]{24}`), "dec"},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}|\b[0-9a-f]{64}\b`), "digest"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ][0-9:.]+Z`), "time"}, {regexp.MustCompile(`"(latency|first_token)_ms": [0-9]+`), "duration"}, {regexp.MustCompile(`msg_[a-z0-9]+`), "msg"},
	{regexp.MustCompile(`"(cursor|next|link)": "[^"]+"`), "cursor"},
}

// placeholders stand for what is different each time; the same one for the same id of a kind, but
// times are all alike.
func placeholders(text string) string {
	for _, c := range changing {
		seen := map[string]int{}
		text = c.form.ReplaceAllStringFunc(text, func(found string) string {
			switch c.word {
			case "time", "digest":
				return c.word
			case "duration":
				name, _, _ := strings.Cut(found, ":")
				return name + `: 0`
			case "cursor":
				name, _, _ := strings.Cut(found, ":")
				return name + `: ` + strings.TrimSpace(name)
			}
			if _, known := seen[found]; !known {
				seen[found] = len(seen) + 1
			}
			return fmt.Sprintf("%s_%d", c.word, seen[found])
		})
	}
	return text
}

// readable is JSON, one value or more, indented.
func readable(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	for dec := json.NewDecoder(strings.NewReader(text)); dec.More(); {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		b.WriteString(indented.String() + "\n")
	}
	return b.String()
}

func TestGoldenJSON(t *testing.T) {
	s, runs := serving(t, map[string]string{"desk": asks})
	id := runs["desk"].ID
	for _, tt := range []struct {
		file string
		args []string
		exit int
	}{
		{"version", []string{"version"}, cmdline.ExitOK},
		{"runs", []string{"runs"}, cmdline.ExitOK},
		{"runs RUN", []string{"runs", id}, cmdline.ExitOK},
		{"approvals", []string{"approvals"}, cmdline.ExitOK},
		{"decide --dry-run", []string{"decide", id, runs["desk"].Pending[0].Suspension.ID, "--approve", "--arguments", `{"amount":7}`, "--dry-run"}, cmdline.ExitOK},
		{"decide", []string{"decide", id, runs["desk"].Pending[0].Suspension.ID, "--approve", "--arguments", `{"amount":7}`, "--reason", "ok"}, cmdline.ExitOK},
		{"decide again", []string{"decide", id, runs["desk"].Pending[0].Suspension.ID, "--deny"}, cmdline.ExitFailed},
		{"decide the other", []string{"decide", id, runs["desk"].Pending[1].Suspension.ID, "--deny", "--reason", "no"}, cmdline.ExitOK},
		{"watch", []string{"watch", id, "--follow"}, cmdline.ExitOK},
		{"runs RUN done", []string{"runs", id}, cmdline.ExitOK},
		{"messages", []string{"messages", id}, cmdline.ExitOK},
		{"run --wait", []string{"run", "desk", "go", "--wait", "--key", "k1"}, cmdline.ExitOK},
		{"run again", []string{"run", "desk", "go", "--key", "k1"}, cmdline.ExitOK},
		{"run of nobody", []string{"run", "dsk", "go"}, cmdline.ExitUsage},
		{"interrupt done", []string{"interrupt", id}, cmdline.ExitFailed},
		{"resume", []string{"resume", id}, cmdline.ExitFailed},
		{"retry", []string{"retry", id}, cmdline.ExitFailed},
		{"runs cancel", []string{"runs", "cancel", id}, cmdline.ExitFailed},
		{"wrong usage", []string{"decide"}, cmdline.ExitUsage},
	} {
		t.Run(tt.file, func(t *testing.T) {
			if tt.file == "decide the other" {
				wentBackToSleep(t, s, id)
			}
			out := dormouse(t, s, append(tt.args, "--json")...)
			out.wantExit(t, tt.exit)
			if tt.exit == cmdline.ExitOK && out.stderr != "" || tt.exit != cmdline.ExitOK && out.stdout != "" {
				t.Errorf("stdout %q, stderr %q", out.stdout, out.stderr)
			}
			golden(t, "json/"+strings.ReplaceAll(tt.file, " ", "_")+".golden.json", placeholders(readable(t, out.stdout+out.stderr)))
		})
	}
}

// wentBackToSleep waits until the run has used the first decision, so that the events of both have
// one order.
func wentBackToSleep(t *testing.T, s *server, id string) {
	t.Helper()
	waiting := 0
	for after := ""; waiting < 2; {
		page, err := client.New(s.url, client.WithRetries(0)).EventPage(t.Context(), id, client.EventQuery{After: after, Wait: time.Second, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Items {
			if e.Type == "run.status" && strings.Contains(string(e.Data), `"waiting"`) {
				waiting++
			}
		}
		after = page.Next
	}
}

// What a scripted server of a test answers is printed as it came: the forms that a real one gives
// only at the right moment.
func TestGoldenJSONOfAnswers(t *testing.T) {
	s := newServer(t, answersOfControl())
	for _, verb := range []string{"interrupt", "resume", "retry", "runs cancel"} {
		out := dormouse(t, s, append(strings.Fields(verb), runID, "--json")...)
		out.wantExit(t, cmdline.ExitOK)
		golden(t, "json/"+strings.ReplaceAll(verb, " ", "_")+"_accepted.golden.json", readable(t, out.stdout))
	}
}
