package cli_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// examplePage does what the page of an example says, in a directory that holds nothing else, with
// the data where the page has it. Ids that the page shows stand for the ones that really come.
type examplePage struct {
	dir, program, url string
	ids               map[string]string
}

var (
	exampleConsole = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")
	exampleID      = regexp.MustCompile(`\b(run|thr)_[a-z2-7]{24}(_[a-z0-9]+)?\b|\bsus_\d+_[a-z2-7]{16}(?:[a-z2-7]{10})?\b`)
	exampleTime    = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T][0-9:.]+Z?`)
	exampleBlanks  = regexp.MustCompile(` +`)
)

func playExample(t *testing.T, program, example string) {
	for _, needed := range []string{"curl", "awk", "grep", "python3"} {
		if _, err := exec.LookPath(needed); err != nil && (needed != "python3" || example == "parcel-desk") {
			t.Skip("the page needs " + needed + ", which is not on this machine")
		}
	}
	p := &examplePage{dir: t.TempDir(), program: program, ids: map[string]string{}}
	from, to := filepath.Join("..", "..", "examples", example), filepath.Join(p.dir, "examples", example)
	err := os.CopyFS(to, os.DirFS(from))
	text, readErr := os.ReadFile(filepath.Join(from, "README.md"))
	if err := errors.Join(err, readErr); err != nil {
		t.Fatal(err)
	}
	for _, block := range exampleConsole.FindAllStringSubmatch(carried(t, to, string(text)), -1) {
		for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, shown, _ := strings.Cut(part, "\n")
			p.do(t, command, shown)
		}
	}
	if p.url == "" {
		t.Error("the page serves nothing")
	}
}

// do does what a command says and holds what it prints to what the page shows. What only reads may
// take a moment to be so: it is tried again.
func (p *examplePage) do(t *testing.T, command, shown string) {
	t.Helper()
	if before, flags, ok := strings.Cut(command, "dormouse dev "); ok {
		if name, value, ok := strings.Cut(strings.TrimSpace(before), "="); ok {
			t.Setenv(name, value)
		}
		p.url = spawn(t, p.program, p.dir, strings.Fields(flags)...).url
		return
	}
	reads := strings.HasPrefix(command, "dormouse runs") || strings.HasPrefix(command, "dormouse approvals") || strings.HasSuffix(command, "--dead")
	// of all tests: how long a moment is on a busy machine nobody knows
	end, bounded := t.Deadline()
	end = end.Add(-20 * time.Second)
	for {
		out, err := p.run(t, command)
		found := shapeOf(shown).FindSubmatch(out)
		switch {
		case err == nil && found != nil:
			for i, id := range exampleID.FindAllString(shown, -1) {
				p.ids[id] = string(found[i+1])
			}
			return
		case !reads || bounded && time.Now().After(end):
			t.Fatalf("%s (%v) prints\n%s\nand the page shows\n%s", command, err, out, shown)
		}
	}
}

func (p *examplePage) run(t *testing.T, command string) ([]byte, error) {
	command = strings.ReplaceAll(command, "http://127.0.0.1:8420", p.url)
	command = exampleID.ReplaceAllStringFunc(command, func(id string) string { return p.ids[id] })
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir, cmd.WaitDelay = p.dir, time.Second
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(p.program)+":"+os.Getenv("PATH"), "DORMOUSE_URL="+p.url, "DORMOUSE_TOKEN=")
	return cmd.CombinedOutput()
}

// shapeOf is what a page shows, as an expression: "..." is anything, an id any id, a time any time,
// and blanks are as many as needed.
func shapeOf(shown string) *regexp.Regexp {
	text := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(shown, "\n")), `\.\.\.`, `(?s:.*)`)
	text = exampleTime.ReplaceAllString(strings.ReplaceAll(text, `\.`, "."), `[0-9T:. -]+Z?`)
	text = exampleID.ReplaceAllString(text, `((?:run|thr|sus)_[a-z0-9_]+)`)
	return regexp.MustCompile(`\A` + exampleBlanks.ReplaceAllString(text, ` +`) + `\s*\z`)
}

// carried starts the service of an example that has one, on a free port, and puts that into the
// example's agents and its page.
func carried(t *testing.T, dir, page string) string {
	t.Helper()
	const onPage = "127.0.0.1:9310"
	if !strings.Contains(page, onPage) {
		return page
	}
	cmd := exec.CommandContext(t.Context(), "python3", filepath.Join(dir, "carrier.py"), "0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	_, at, ok := strings.Cut(strings.TrimSpace(line), "http://")
	if err != nil || !ok {
		t.Fatalf("the service does not say where it is: %q, %v", line, err)
	}
	agents, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	for _, file := range agents {
		text, readErr := os.ReadFile(file)
		err = errors.Join(err, readErr, os.WriteFile(file, bytes.ReplaceAll(text, []byte(onPage), []byte(at)), 0o600))
	}
	if err != nil || len(agents) == 0 {
		t.Fatalf("%d agents, %v", len(agents), err)
	}
	return strings.ReplaceAll(page, onPage, at)
}
