package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// emptyFolder makes an empty directory the one that commands run in.
func emptyFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	return dir
}

// here runs a command in the current directory, without a server unless url names one.
func here(t *testing.T, url string, args ...string) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	getenv := func(name string) string { return map[string]string{"DORMOUSE_URL": url}[name] }
	exit := cli.Main(t.Context(), args, strings.NewReader(""), &stdout, &stderr, cmdline.Options{Version: "v1.2.3", Getenv: getenv})
	return output{exit, stdout.String(), stderr.String()}
}

// devHere serves the current directory with the command dev, and returns the address it prints.
func devHere(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	read, write := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		code := cli.Main(ctx, append([]string{"dev", "--addr", "127.0.0.1:0"}, args...), strings.NewReader(""), write, &stderr,
			cmdline.Options{Getenv: func(string) string { return "" }})
		write.Close()
		ended <- code
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != cmdline.ExitOK {
			t.Errorf("dev ended with %d: %s", code, stderr.String())
		}
	})
	said, err := bufio.NewReader(read).ReadString('\n')
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(said)
	if err != nil || url == "" {
		t.Fatalf("dev says %q, %v", said, err)
	}
	// it may say more, and must not wait for a reader
	go func() { _, _ = io.Copy(io.Discard, read) }()
	return url
}

func TestANewAgentIsCheckedTestedServedAndRunInAnEmptyFolder(t *testing.T) {
	emptyFolder(t)
	made := here(t, "", "new", "my-desk")
	made.wantExit(t, cmdline.ExitOK)
	contains(t, made.stdout, "wrote agents/my-desk.yaml\n", "wrote agents/scripts/my-desk.yaml\n", "wrote agents/tests/my-desk.yaml\n")

	checked := here(t, "", "agents", "check")
	checked.wantExit(t, cmdline.ExitOK)
	if checked.stdout != "1 agent and 4 tests: OK\n" {
		t.Errorf("check says %q", checked.stdout)
	}
	tested := here(t, "", "agents", "test")
	tested.wantExit(t, cmdline.ExitOK)
	contains(t, tested.stdout, "approve send_refund", "4 tests: OK\n")

	url := devHere(t)
	ran := here(t, url, "run", "my-desk", "Refund order A-2", "--wait")
	ran.wantExit(t, cmdline.ExitOK)
	contains(t, ran.stdout, "waiting", `approval of send_refund {"amount":120,"order":"A-2"}`)
	id := regexp.MustCompile(`run_\w+`).FindString(ran.stdout)
	here(t, url, "decide", id, "--approve").wantExit(t, cmdline.ExitOK)
	watched := here(t, url, "watch", id)
	watched.wantExit(t, cmdline.ExitOK)
	contains(t, watched.stdout, "The refund for order A-2 is on its way.")
}

func TestTheNextCommandsThatNewPrintsFindTheDirectory(t *testing.T) {
	emptyFolder(t)
	made := here(t, "", "new", "my-desk", "--dir", "work/desks")
	made.wantExit(t, cmdline.ExitOK)
	for _, command := range regexp.MustCompile(`(?m)^  dormouse (agents .*)$`).FindAllStringSubmatch(made.stdout, -1) {
		here(t, "", strings.Fields(command[1])...).wantExit(t, cmdline.ExitOK)
	}
	dev := regexp.MustCompile(`(?m)^  dormouse dev (.*)$`).FindStringSubmatch(made.stdout)
	if dev == nil {
		t.Fatalf("no command serves the agent:\n%s", made.stdout)
	}
	url := devHere(t, strings.Fields(dev[1])...)
	here(t, url, "run", "my-desk", "Refund order A-1", "--wait").wantExit(t, cmdline.ExitOK)
}

// words are what a shell makes of the end of a command.
func words(t *testing.T, text string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `printf '%s\000' `+text).Output()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func TestTheNextCommandsCanBeCopiedWhateverTheDirectoryIsCalled(t *testing.T) {
	for _, dir := range []string{"a b", "it's $HOME", "-all", "\u00fcber"} {
		emptyFolder(t)
		made := here(t, "", "new", "my-desk", "--dir="+dir)
		made.wantExit(t, cmdline.ExitOK)
		text, err := os.ReadFile(filepath.Join(dir, "my-desk.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		commands := regexp.MustCompile(`(?m)  dormouse (agents .*)$`).FindAllStringSubmatch(made.stdout+string(text), -1)
		if len(commands) != 4 {
			t.Errorf("%q: it names %q", dir, commands)
		}
		for _, command := range commands {
			here(t, "", words(t, command[1])...).wantExit(t, cmdline.ExitOK)
		}
		dev := regexp.MustCompile(`(?m)^  dormouse dev (.*)$`).FindStringSubmatch(made.stdout)
		if dev == nil || words(t, dev[1])[0] != "--agents" || filepath.Clean(words(t, dev[1])[1]) != dir {
			t.Errorf("%q: served with %q", dir, dev)
		}
	}
}

func TestNewTakesNoDirectoryThatCannotBeCopied(t *testing.T) {
	folder := emptyFolder(t)
	refused := here(t, "", "new", "my-desk", "--dir", "a\nb")
	refused.wantExit(t, cmdline.ExitUsage)
	contains(t, refused.stderr, `an invisible character (a\nb)`)
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v", left, err)
	}
}

func TestNewLeavesNothingWhereAFileIsInThePlaceOfADirectory(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/schemas", "mine")
	before := tree(t)
	refused := here(t, "", "new", "my-desk", "--json")
	refused.wantExit(t, cmdline.ExitFailed)
	contains(t, refused.stderr, `"in_the_way"`, "agents/schemas is there already, and must be a directory; move it away")
	if left := tree(t); !slices.Equal(left, before) {
		t.Errorf("the folder has %v, and had %v", left, before)
	}
}

func TestNewOverwritesNothing(t *testing.T) {
	emptyFolder(t)
	here(t, "", "new", "my-desk").wantExit(t, cmdline.ExitOK)
	if err := os.WriteFile("agents/my-desk.yaml", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := here(t, "", "new", "my-desk")
	again.wantExit(t, cmdline.ExitFailed)
	contains(t, again.stderr, "agents/my-desk.yaml is there already")
	if text, err := os.ReadFile("agents/my-desk.yaml"); string(text) != "mine" {
		t.Errorf("the file is now %q, %v", text, err)
	}
	second := here(t, "", "new", "other", "--json")
	second.wantExit(t, cmdline.ExitOK)
	if want := `{"agent":"other","written":["agents/other.yaml","agents/scripts/other.yaml","agents/tests/other.yaml"],"kept":[]}` + "\n"; second.stdout != want {
		t.Errorf("%s, want %s", second.stdout, want)
	}
}

func TestNewRefusesTheNameOfAnAgentInAnotherFile(t *testing.T) {
	emptyFolder(t)
	here(t, "", "new", "first").wantExit(t, cmdline.ExitOK)
	text, err := os.ReadFile("agents/first.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("agents/first.yaml", []byte(strings.Replace(string(text), "name: first", "name: second", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	second := here(t, "", "new", "second")
	second.wantExit(t, cmdline.ExitFailed)
	contains(t, second.stderr, `agent "second" already exists in agents/first.yaml`)
}

func TestNewRefusesWhatCannotBeAName(t *testing.T) {
	dir := emptyFolder(t)
	for _, name := range []string{"", "My-Desk", "../desk", "a b", "desk.yaml", strings.Repeat("a", 65)} {
		refused := here(t, "", "new", "--", name)
		refused.wantExit(t, cmdline.ExitUsage)
		contains(t, refused.stderr, "is not a valid agent name")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v", left, err)
	}
}

func TestNewSaysWhichSchemasAreOfAnotherVersion(t *testing.T) {
	emptyFolder(t)
	if err := os.MkdirAll("agents/schemas", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("agents/schemas/script.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := here(t, "", "new", "my-desk")
	made.wantExit(t, cmdline.ExitOK)
	contains(t, made.stdout, "kept  agents/schemas/script.json", "dormouse agents schema script > agents/schemas/script.json")
}

func TestTheToolThatIsCommentedOutInANewAgentIsRight(t *testing.T) {
	emptyFolder(t)
	here(t, "", "new", "my-desk").wantExit(t, cmdline.ExitOK)
	text, err := os.ReadFile("agents/my-desk.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines, commented := "", 0
	for line := range strings.Lines(string(text)) {
		if tool, is := strings.CutPrefix(line, "  # "); is && !strings.HasPrefix(tool, "look_up") {
			line, commented = "  "+tool, commented+1
		}
		lines += line
	}
	if commented < 5 {
		t.Fatalf("%d lines are commented out:\n%s", commented, text)
	}
	lines = strings.Replace(lines, "name: look_up", "name: look_up_recorded", 1)
	if err := os.WriteFile("agents/my-desk.yaml", []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	here(t, "", "agents", "check", "agents/my-desk.yaml").wantExit(t, cmdline.ExitOK)
}

// TestTheModelsThatAreCommentedOutInANewAgentAreRight puts each in the place of the script.
func TestTheModelsThatAreCommentedOutInANewAgentAreRight(t *testing.T) {
	emptyFolder(t)
	here(t, "", "new", "my-desk").wantExit(t, cmdline.ExitOK)
	text, err := os.ReadFile("agents/my-desk.yaml")
	if err != nil {
		t.Fatal(err)
	}
	models := regexp.MustCompile(`(?m)^# model:\n(?:#   .*\n)+`).FindAllString(string(text), -1)
	script := regexp.MustCompile(`(?m)^model:\n(?:  .*\n)+`)
	if len(models) != 2 || !script.Match(text) {
		t.Fatalf("%d models are commented out:\n%s", len(models), text)
	}
	for _, model := range models {
		model = strings.ReplaceAll(strings.ReplaceAll(model, "# model:", "model:"), "#   ", "  ")
		put(t, "agents/my-desk.yaml", script.ReplaceAllString(string(text), model))
		o := here(t, "", "agents", "check", "agents/my-desk.yaml")
		o.wantExit(t, cmdline.ExitOK)
		contains(t, o.stdout, "1 agent: OK")
	}
}

func TestTheSchemasAreJSON(t *testing.T) {
	for _, kind := range []string{"agent", "policy", "script", "test"} {
		printed := here(t, "", "agents", "schema", kind)
		printed.wantExit(t, cmdline.ExitOK)
		var schema struct {
			Schema string `json:"$schema"`
			Title  string
		}
		if err := json.Unmarshal([]byte(printed.stdout), &schema); err != nil || schema.Schema != "http://json-schema.org/draft-07/schema#" || schema.Title != "Dormouse: "+kind {
			t.Errorf("%s: %+v, %v", kind, schema, err)
		}
	}
	if here(t, "", "agents", "schema").stdout != here(t, "", "agents", "schema", "agent").stdout {
		t.Error("without a kind it is not that of agents")
	}
	here(t, "", "agents", "schema", "agents").wantExit(t, cmdline.ExitUsage)
	if written := filepath.Join(root, "docs", "reference", "agent.schema.json"); here(t, "", "agents", "schema").stdout != read(t, "docs/reference/agent.schema.json") {
		t.Errorf("%s is not what the command prints", written)
	}
}
