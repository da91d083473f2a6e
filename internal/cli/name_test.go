package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/local"
)

// product is the word "dormouse" where it is a command: neither a part of a longer word or a path,
// nor the name of another program.
var product = regexp.MustCompile("(?m)(^|[\\s(\"'`])dormouse([\\s:,;.)\"'`]|$)")

// desk runs a command of a program of another name, with the address of a server.
func desk(t *testing.T, url string, args ...string) (stdout, stderr string) {
	t.Helper()
	getenv := func(name string) string { return map[string]string{"DORMOUSE_URL": url}[name] }
	var out, errs bytes.Buffer
	Main(t.Context(), args, strings.NewReader(""), &out, &errs, cmdline.Options{Name: "desk", Version: "v1.2.3", Getenv: getenv})
	return out.String(), errs.String()
}

// calledDesk demands that a text names this program alone, and at least once.
func calledDesk(t *testing.T, what, text string) {
	t.Helper()
	if found := product.FindString(text); found != "" {
		line := text[strings.LastIndexByte(text[:product.FindStringIndex(text)[0]+1], '\n')+1:]
		line, _, _ = strings.Cut(strings.TrimLeft(line, "\n"), "\n")
		t.Errorf("%s names another program:\n%s", what, line)
	}
	if !strings.Contains(text, "desk") {
		t.Errorf("%s does not name the program:\n%s", what, text)
	}
}

const nowhere = "http://127.0.0.1:1"

func TestHelpNamesTheProgram(t *testing.T) {
	names := []string{"", "help"}
	for _, cmd := range verbs(tree()) {
		names = append(names, strings.TrimPrefix(cmd.CommandPath(), "dormouse "))
	}
	for _, name := range names {
		out, errs := desk(t, nowhere, append([]string{"help"}, strings.Fields(name)...)...)
		if name == "exit-codes" { // which names no command
			errs += "desk"
		}
		calledDesk(t, "help "+name, out+errs)
	}
}

func TestTheVersionAndCompletionNameTheProgram(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}, {"-v"}} {
		if out, _ := desk(t, nowhere, args...); out != "desk v1.2.3\n" {
			t.Errorf("%v prints %q", args, out)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		out, _ := desk(t, nowhere, "completion", shell)
		calledDesk(t, "completion "+shell, out)
		if strings.Contains(out, "dormouse") {
			t.Errorf("completion %s names another program", shell)
		}
	}
}

func TestErrorsNameTheProgram(t *testing.T) {
	refusing := func(status int, code string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(wire.Problem{Title: code, Status: status, Code: code, Detail: "no"})
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	dir := t.TempDir()
	empty, tokens := filepath.Join(dir, "empty"), filepath.Join(dir, "tokens")
	for _, file := range []string{empty, tokens} {
		if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "agents"), 0o700); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing")
	for _, tt := range []struct {
		url, args string
		hint      string // a command that the error names
	}{
		{nowhere, "", "desk [command]"},
		{nowhere, "decde", "desk help"},
		{nowhere, "approve", "desk decide RUN --approve"},
		{nowhere, "logs", "desk watch RUN"},
		{nowhere, "help decde", "desk help"},
		{nowhere, "runs --nothing", "desk runs --help"},
		{nowhere, "run desk", "desk run AGENT INPUT"},
		{nowhere, "approvals", "desk dev"},
		{nowhere, "runs --token-file " + empty, "desk tokens add"},
		{nowhere, "tokens remove ci --file " + tokens, "desk tokens list"},
		{nowhere, "agents check " + filepath.Join(dir, "agents"), "desk new NAME"},
		{nowhere, "agents test " + filepath.Join(dir, "agents"), "desk new NAME"},
		{nowhere, "dev --agents " + missing + " --data " + dir, "desk new NAME"},
		{nowhere, "dev --agents " + filepath.Join(dir, "agents") + " --data " + dir + " --tokens " + missing, "desk tokens add"},
		{nowhere, "dev --agents " + filepath.Join(dir, "agents") + " --data " + dir + " --tokens " + tokens, "desk tokens add"},
		{refusing(401, "unauthorized"), "runs", "desk tokens add"},
		{refusing(403, "role_required"), "runs", "desk help tokens"},
		{refusing(422, "unclear_decision"), "decide run_x7_0 sus_1_a --result 1", "desk approvals"},
	} {
		for _, flags := range [][]string{nil, {"--json"}} {
			out, errs := desk(t, tt.url, append(strings.Fields(tt.args), flags...)...)
			calledDesk(t, tt.args, out+errs)
			if !strings.Contains(out+errs, tt.hint) {
				t.Errorf("%s %v does not say %q:\n%s%s", tt.args, flags, tt.hint, out, errs)
			}
		}
	}
}

func TestTheInboxThatHasNoTerminalNamesTheProgram(t *testing.T) {
	_, errs := desk(t, nowhere, "approvals", "-i")
	calledDesk(t, "approvals -i", errs)
}

func TestWhatIsPrintedNamesTheProgram(t *testing.T) {
	dir := t.TempDir()
	agents, data := filepath.Join(dir, "agents"), filepath.Join(dir, "data")
	jobs := filepath.Join(dir, "jobs.jsonl")
	if err := os.WriteFile(jobs, []byte(`{"idempotency_key":"k1","agent":"my-desk","input":"hi"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs := desk(t, nowhere, "new", "my-desk", "--dir", agents)
	calledDesk(t, "new", out+errs)
	for _, file := range []string{"my-desk.yaml", "tests/my-desk.yaml", "scripts/my-desk.yaml"} {
		text, err := os.ReadFile(filepath.Join(agents, file))
		if err != nil {
			t.Fatal(err)
		}
		calledDesk(t, file, string(text))
	}
	if err := os.WriteFile(filepath.Join(agents, "schemas", "agent.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs = desk(t, nowhere, "new", "other", "--dir", agents)
	calledDesk(t, "new beside a changed schema", out+errs)
	out, errs = desk(t, nowhere, "enqueue", jobs, "--data", data)
	calledDesk(t, "enqueue", out+errs)
}

func TestAServerIsToldWhatTheProgramIsCalled(t *testing.T) {
	var o local.Options
	a := cmdline.New(strings.NewReader(""), new(bytes.Buffer), new(bytes.Buffer), cmdline.Options{Name: "desk"})
	if err := a.Register(&o); err != nil || o.Command != "desk" {
		t.Errorf("it is called %q, %v", o.Command, err)
	}
}

// A command to copy has the path of the program already.
func TestAPathOfTheProgramIsPrintedOnce(t *testing.T) {
	for _, typed := range []string{"bin/dormouse", "./dormouse", "dormouse"} {
		var out, errs bytes.Buffer
		Main(t.Context(), []string{"approvals", "-i", "--url", nowhere}, strings.NewReader(""), &out, &errs,
			cmdline.Options{Typed: typed, Version: "v1.2.3", Getenv: func(string) string { return "" }})
		want := "use " + typed + " approvals --url " + nowhere + " to list calls, and " + typed + " decide to decide them\n"
		if !strings.HasSuffix(errs.String(), want) {
			t.Errorf("not %q: %s", want, errs.String())
		}
	}
}
