package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
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

// pages are the texts of README.md, CONTRIBUTING.md and docs/*/*.md by name. The decisions are a
// diary, not instructions: they are not among them.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*", "*.md"))
	if err != nil || len(found) < 10 {
		t.Fatalf("%d pages, %v", len(found), err)
	}
	all := map[string]string{"README.md": read(t, "README.md"), "CONTRIBUTING.md": read(t, "CONTRIBUTING.md")}
	for _, path := range found {
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		if name = filepath.ToSlash(name); !strings.HasPrefix(name, "docs/decisions/") {
			all[name] = read(t, name)
		}
	}
	return all
}

// block is a fenced block of a page. If the paragraph before it ends in a file's name and a colon,
// it is that file, or its last lines if they are to be added to it.
type block struct {
	language, text, file string
	added                bool
	prose                string // between the block before and this one
}

var (
	fenced = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")
	named  = regexp.MustCompile("(Add to )?`([\\w./-]+\\.\\w+)`:\n\n$")
)

func blocksOf(page string) []block {
	var found []block
	end := 0
	for _, m := range fenced.FindAllStringSubmatchIndex(page, -1) {
		b := block{language: page[m[2]:m[3]], text: page[m[4]:m[5]], prose: page[end:m[0]]}
		if name := named.FindStringSubmatch(page[:m[0]]); name != nil {
			b.added, b.file = name[1] != "", name[2]
		}
		found, end = append(found, b), m[1]
	}
	return found
}

// generated pages say so at their top. The test that writes such a page holds it to the code, and
// plays what is on it.
var generated = regexp.MustCompile(`(?i)\bgenerated from\b`)

func isGenerated(page string) bool {
	head, _, _ := strings.Cut(page, "\n## ")
	return generated.MatchString(head)
}

// notPlayed says of a kind of block why it is not run here. A kind that is neither here nor in
// [TestEveryBlockIsHeldToTheProgram] fails.
var notPlayed = map[string]string{
	"mermaid": "a drawing; the statuses of the README's are looked at by TestThePictureOfARunIsTrue, state-machine.md is generated",
	"text":    "a drawing in letters, or a file of another program, without a file's name before it",
	"yml":     "a part of an agent file or a policy, or a hook file, on the pages about these files alone; internal/agent reads each of them",
}

func TestEveryBlockIsHeldToTheProgram(t *testing.T) {
	for name, page := range pages(t) {
		if isGenerated(page) {
			t.Logf("%s is generated; the test that writes it holds it to the code", name)
			continue
		}
		for _, b := range blocksOf(page) {
			why, left := notPlayed[b.language]
			switch {
			case left && b.language == "yml" && name != "docs/reference/agent-file.md" && name != "docs/reference/hook-file.md":
				t.Errorf("%s: a part of a file that nobody reads; show a whole file:\n%s", name, b.text)
			case left && (b.file == "" || b.language == "yml"):
				t.Logf("%s: %s is not played: %s", name, b.language, why)
			case b.language == "console": // played by TestPagesShowWhatHappens
			case b.language == "json" && b.file == "":
				if !isOfTheAPI(b.text) {
					t.Errorf("%s: JSON that the API neither takes nor gives:\n%s", name, b.text)
				}
			case b.file == "":
				t.Errorf("%s: a block of %q; say before it which file it is, as in `agents/desk.yaml`:, or make it a console\n%s", name, b.language, b.text)
			case !slices.Contains([]string{"yaml", "go", "python", "json"}, b.language):
				t.Errorf("%s: no test reads files of %q", name, b.language)
			}
		}
	}
}

// isOfTheAPI says whether a text is one of the API's shapes, every member of it.
func isOfTheAPI(text string) bool {
	if _, err := agentfile.ParseNarrow(json.RawMessage(text)); err == nil {
		return true
	}
	for _, shape := range []any{&wire.StartRequest{}, &wire.MessageRequest{}, &wire.ResumeRequest{}, &wire.Decision{}, &wire.Decisions{},
		&wire.DecisionAnswer{}, &wire.DecisionAnswers{}, &wire.Approval{}, &wire.Event{}, &wire.Problem{}, &wire.Run{}} {
		strict := json.NewDecoder(bytes.NewReader([]byte(text)))
		strict.DisallowUnknownFields()
		if strict.Decode(shape) == nil {
			return true
		}
	}
	return false
}

func TestAgentFilesOnPagesLoad(t *testing.T) {
	for name, page := range pages(t) {
		dir, files := t.TempDir(), 0
		for _, b := range blocksOf(page) {
			if b.language != "yaml" || b.added || !strings.HasPrefix(b.file, "agents/") {
				continue
			}
			files++
			path := filepath.Join(dir, b.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if files == 0 {
			continue
		}
		if _, err := agentfile.Load(filepath.Join(dir, "agents")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAgentsNamesEveryKey(t *testing.T) {
	page := read(t, "docs/reference/agent-file.md")
	// A file that is wrong everywhere is told every key there is.
	_, err := agentfile.Parse("a.yaml", []byte(`{x: 1, model: {x: 1, provider: scripted, turns: [{x: 1, say: a, given: {x: 1}, calls: [{x: 1, tool: a}]}]},
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

var (
	// flagOf is a flag in the help of a command, with its usage line.
	flagOf = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)(?: [a-zA-Z:=]+)?(?: {2,}(.*))?$`)
	// flagOn is a flag that a page names in prose, not in a command line.
	flagOn = regexp.MustCompile("`--([a-z-]+)")
)

// TestTheFlagsOfServeAreExplained checks that the help of dev and serve says what each flag does,
// and that docs/guides/run-in-production.md names only flags that some command has.
func TestTheFlagsOfServeAreExplained(t *testing.T) {
	for _, command := range []string{"dev", "serve"} {
		flags := flagOf.FindAllStringSubmatch(here(t, "", command, "--help").stdout, -1)
		if len(flags) < 20 {
			t.Errorf("%s: the help has %d flags", command, len(flags))
		}
		for _, f := range flags {
			if len(strings.Fields(f[2])) < 3 {
				t.Errorf("%s: the help says only %q of --%s", command, f[2], f[1])
			}
		}
	}
	known := map[string]bool{}
	for _, command := range [][]string{{"serve"}, {"doctor"}, {"agents", "check"}, {"runs"}} {
		for _, f := range flagOf.FindAllStringSubmatch(here(t, "", append(command, "--help")...).stdout, -1) {
			known[f[1]] = true
		}
	}
	named := flagOn.FindAllStringSubmatch(read(t, "docs/guides/run-in-production.md"), -1)
	if len(named) < 15 {
		t.Errorf("the page names %d flags", len(named))
	}
	for _, f := range named {
		if !known[f[1]] {
			t.Errorf("the page names --%s, which no command has", f[1])
		}
	}
}

// buildDormouse builds the program, and returns the directory it is in. flags are for the linker.
func buildDormouse(t *testing.T, flags string) string {
	t.Helper()
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-ldflags", flags, "-o", filepath.Join(bin, "dormouse"), root+"/cmd/dormouse").CombinedOutput(); err != nil {
		t.Fatalf("building dormouse: %v\n%s", err, out)
	}
	return bin
}

func TestPagesShowWhatHappens(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl, with which the pages talk to the API")
	}
	chat := newWorkspace(t)
	bin := buildDormouse(t, chat.linked())
	played := 0
	for name, page := range pages(t) {
		if isGenerated(page) || !strings.Contains(page, "\n```console\n") {
			continue
		}
		played++
		t.Run(strings.TrimSuffix(filepath.Base(name), ".md"), func(t *testing.T) {
			if _, err := exec.LookPath("python3"); err != nil && strings.Contains(page, "python3 ") {
				t.Skip("there is no python3, which the page uses")
			}
			if strings.Contains(page, "\n$ go build ") {
				effort.Long(t, "it builds the programs of the page")
			}
			s := newSession(t, bin)
			// Other pages serve the example of this one.
			if name != "docs/reference/agent-file.md" {
				s.exampleOfAgents(t, page)
			}
			switch name {
			case "docs/guides/approve-from-slack.md":
				chat.joins(s)
			case "docs/guides/approve-by-mail.md":
				newMailbox(t).joins(s)
			}
			s.play(t, page)
			switch name {
			case "docs/guides/approve-from-github-actions.md":
				s.runsWorkflow(t, page)
			case "docs/guides/approve-from-slack.md":
				chat.ends(t)
			}
		})
	}
	if played < 5 {
		t.Errorf("%d pages were played", played)
	}
}

// exampleOfAgents writes the agent of docs/reference/agent-file.md, if the page sends its
// reader there for it.
func (s *session) exampleOfAgents(t *testing.T, page string) {
	t.Helper()
	if !strings.Contains(page, "agent-file.md#a-complete-example)") {
		return
	}
	for _, b := range blocksOf(read(t, "docs/reference/agent-file.md")) {
		if b.language == "yaml" && b.file != "" {
			s.write(t, b)
		}
	}
}
