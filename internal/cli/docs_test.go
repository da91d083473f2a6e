package cli_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

const root = "../.."

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var fenced = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

// blocks are the contents of a page's fenced blocks in a language.
func blocks(page, language string) []string {
	var found []string
	for _, m := range fenced.FindAllStringSubmatch(page, -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	return found
}

// exampleAgent writes the agent of docs/agents.md into dir.
func exampleAgent(t *testing.T, dir string) {
	t.Helper()
	files := blocks(read(t, "docs/agents.md"), "yaml")
	if len(files) != 2 {
		t.Fatalf("%d files in the example, want the agent and its script", len(files))
	}
	if err := os.MkdirAll(filepath.Join(dir, "agents", "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"weather.yaml", "scripts/weather.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, "agents", name), []byte(files[i]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheExampleOfAgentsLoads(t *testing.T) {
	dir := t.TempDir()
	exampleAgent(t, dir)
	if _, err := agent.Load(filepath.Join(dir, "agents")); err != nil {
		t.Error(err)
	}
}

func TestAgentsNamesEveryKey(t *testing.T) {
	page := read(t, "docs/agents.md")
	// A file that is wrong everywhere is told every key there is.
	_, err := agent.Parse("a.yaml", []byte(`{x: 1, model: {x: 1, provider: scripted, turns: [{x: 1, say: a, given: {x: 1}, calls: [{x: 1, tool: a}]}]},
		tools: [{x: 1, name: a, recorded: [{x: 1, result: 1}]}], permissions: {x: 1, ask: [{x: 1, tool: a, when: {x: 1, argument: a, equals: 1}}]}}`), nil)
	if err == nil {
		t.Fatal("no error")
	}
	takes := regexp.MustCompile(`it takes (.*)`).FindAllStringSubmatch(err.Error(), -1)
	if len(takes) != 10 {
		t.Fatalf("%d kinds of mapping: %v", len(takes), err)
	}
	for _, keys := range takes {
		for key := range strings.SplitSeq(keys[1], ", ") {
			contains(t, page, "`"+key+"`")
		}
	}
}

// session runs the commands of a page against one server. Ids that a page shows stand for the ones that really come.
type session struct {
	dir, program, page string // page: where the page says the server is
	url                string // where it is
	ids                map[string]string
}

var (
	idForm = regexp.MustCompile(`\b(run|thr)_[a-z2-7]{24}(_[a-z0-9]+)?\b|\bsus_\d+_[a-z2-7]{16}\b`)
	moment = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T][0-9:.]+Z?|\b\d\d:\d\d:\d\d\.\d+`)
	blanks = regexp.MustCompile(` +`)
)

// pattern is what a page shows, as an expression: "..." is anything, an id any id, a time any time, and blanks are as many as
// the columns need.
func pattern(shown string) *regexp.Regexp {
	text := regexp.QuoteMeta(strings.TrimSuffix(shown, "\n"))
	text = strings.ReplaceAll(text, `\.\.\.`, `(?s:.*)`)
	text = moment.ReplaceAllString(strings.ReplaceAll(text, `\.`, "."), `[0-9T:. -]+Z?`)
	text = idForm.ReplaceAllString(text, `((?:run|thr|sus)_[a-z0-9_]+)`)
	return regexp.MustCompile(`\A` + blanks.ReplaceAllString(text, ` +`) + `\s*\z`)
}

// known puts the real ids and the real address into a command.
func (s *session) known(command string) string {
	command = strings.ReplaceAll(command, s.page, s.url)
	return idForm.ReplaceAllStringFunc(command, func(id string) string { return s.ids[id] })
}

// do runs a command and holds what it prints to what the page shows.
func (s *session) do(t *testing.T, command, shown string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a command that hangs fails, and names itself
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", s.known(command))
	cmd.WaitDelay = time.Second
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(s.program)+":"+os.Getenv("PATH"), "DORMOUSE_URL="+s.url, "DORMOUSE_TOKEN=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	found := pattern(shown).FindSubmatch(out)
	if found == nil {
		t.Fatalf("%s prints\n%s\nand the page shows\n%s", command, out, shown)
	}
	for i, id := range idForm.FindAllString(shown, -1) {
		s.ids[id] = string(found[i+1])
	}
}

// serve starts the server with the command of the page, on a free port.
func (s *session) serve(t *testing.T, command, shown string) {
	t.Helper()
	args := append(strings.Fields(command)[1:], "--addr", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data"))
	cmd := exec.CommandContext(t.Context(), s.program, args...)
	cmd.Dir = s.dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	address := regexp.MustCompile(`http://[0-9.:]+`)
	s.page, s.url = address.FindString(shown), address.FindString(line)
	if got, _, _ := strings.Cut(line, " at "); !strings.HasPrefix(shown, got+" at ") {
		t.Errorf("%s prints\n%s\nand the page shows\n%s", command, line, shown)
	}
}

// play goes through all console blocks of a page in order.
func (s *session) play(t *testing.T, page string) {
	t.Helper()
	for _, block := range blocks(page, "console") {
		for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, shown, _ := strings.Cut(part, "\n")
			if strings.Contains(command, "dormouse dev") {
				s.serve(t, command, shown)
				continue
			}
			s.do(t, command, shown)
		}
	}
}

func TestPagesShowWhatHappens(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	program := filepath.Join(t.TempDir(), "bin", "dormouse")
	if out, err := exec.Command("go", "build", "-o", program, root+"/cmd/dormouse").CombinedOutput(); err != nil {
		t.Fatalf("building dormouse: %v\n%s", err, out)
	}
	t.Run("getting started", func(t *testing.T) {
		s := &session{dir: t.TempDir(), program: program, ids: map[string]string{}}
		exampleAgent(t, s.dir)
		s.play(t, read(t, "docs/getting-started.md"))
	})
	t.Run("readme", func(t *testing.T) {
		s := &session{dir: root, program: program, ids: map[string]string{}}
		s.play(t, strings.ReplaceAll(read(t, "README.md"), "$ bin/dormouse", "$ dormouse"))
	})
}
