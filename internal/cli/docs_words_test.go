package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/core"
)

var drawn = regexp.MustCompile(`\b(run|call) is (\w+)`)

// TestThePictureOfARunIsTrue holds the picture in the README to the tables of core: its statuses
// are theirs, and so are the moves.
func TestThePictureOfARunIsTrue(t *testing.T) {
	runs, calls := map[string]core.RunStatus{}, map[string]core.CallStatus{}
	for s := core.RunCreated; s <= core.RunDone; s++ {
		runs[s.String()] = s
	}
	for s := core.CallNew; s <= core.CallCancelled; s++ {
		calls[s.String()] = s
	}
	var picture string
	for _, b := range blocksOf(read(t, "README.md")) {
		if b.language == "mermaid" {
			picture = b.text
		}
	}
	run, call, seen := core.RunCreated, core.CallNew, map[string]bool{}
	for _, m := range drawn.FindAllStringSubmatch(picture, -1) {
		what, name := m[1], m[2]
		nextRun, isRun := runs[name]
		nextCall, isCall := calls[name]
		switch {
		case what == "run" && (!isRun || !run.Allows(nextRun)):
			t.Errorf("a run cannot be %s after %s", name, run)
		case what == "call" && (!isCall || !call.Allows(nextCall)):
			t.Errorf("a call cannot be %s after %s", name, call)
		case what == "run":
			run, seen[name] = nextRun, true
		default:
			call = nextCall
		}
	}
	if len(seen) != len(runs) || run != core.RunDone || !call.Terminal() {
		t.Errorf("the picture has the statuses %v, and ends with a run that is %s and a call that is %s", seen, run, call)
	}
}

// TestTheHelpHasEveryExitCode checks the help topics, from which the page of commands is generated.
func TestTheHelpHasEveryExitCode(t *testing.T) {
	product := exitCodeNumbers(func(args ...string) string { return here(t, "", args...).stdout })
	proof := exitCodeNumbers(func(args ...string) string { return proves(t, args...).stdout })
	every := []string{strconv.Itoa(cmdline.ExitOK), strconv.Itoa(cmdline.ExitFailed), strconv.Itoa(cmdline.ExitUsage),
		strconv.Itoa(cmdline.ExitUnreachable), strconv.Itoa(cmdline.ExitBroken)}
	asks := append(slices.Clone(every[:cmdline.ExitBroken]), strconv.Itoa(cmdline.ExitUnanswered))
	if !slices.Equal(proof, every) || !slices.Equal(product, asks) {
		t.Errorf("dormouse has the exit codes %v, dormouse-proof %v", product, proof)
	}
}

func TestConceptsNameEveryStatusKindAndRole(t *testing.T) {
	var words []string
	for s := core.RunCreated; s <= core.RunDone; s++ {
		words = append(words, s.String())
	}
	for k := core.KindApproval; k <= core.KindInterrupt; k++ {
		words = append(words, k.String())
	}
	for _, r := range access.Roles() {
		words = append(words, string(r))
	}
	page := read(t, "docs/how-it-works/concepts.md")
	for _, word := range words {
		contains(t, page, "`"+word+"`")
	}
}

func TestApprovalsNameEveryKindAndOnlyCodesThatThereAre(t *testing.T) {
	page, problems := read(t, "docs/guides/approvals.md"), read(t, "docs/reference/errors.md")
	for k := core.KindApproval; k <= core.KindInterrupt; k++ {
		contains(t, page, "\n| `"+k.String()+"` |")
	}
	codes := regexp.MustCompile("4\\d\\d (`[a-z_]+`(?:, `[a-z_]+`)*)").FindAllStringSubmatch(page, -1)
	if len(codes) < 4 {
		t.Errorf("the page tells of %d refusals", len(codes))
	}
	for _, m := range codes {
		for code := range strings.SplitSeq(m[1], ", ") {
			contains(t, problems, "|"+code+"|")
		}
	}
}

// TestTroubleshootingQuotesTheProgram checks that the codes on the page are codes of the API, and
// that the messages of a failed start are messages of the program.
func TestTroubleshootingQuotesTheProgram(t *testing.T) {
	page, problems := read(t, "docs/guides/troubleshooting.md"), read(t, "docs/reference/errors.md")
	codes := regexp.MustCompile("[45]\\d\\d (`[a-z_]+`(?:, `[a-z_]+`)*)").FindAllStringSubmatch(page, -1)
	if len(codes) < 10 {
		t.Errorf("the page has the codes %v", codes)
	}
	for _, m := range codes {
		for code := range strings.SplitSeq(m[1], ", ") {
			contains(t, problems, "|"+code+"|")
		}
	}
	code := sources(t, "internal/cli") + sources(t, "internal/cli/cmdline") + sources(t, "internal/local") + sources(t, "internal/engine")
	_, start, _ := strings.Cut(page, "\n## The server does not start\n")
	start, _, _ = strings.Cut(start, "\n## ")
	messages := regexp.MustCompile("(?m)^- `([^`]+)`:").FindAllStringSubmatch(start, -1)
	if len(messages) < 2 {
		t.Errorf("the page has the messages %v", messages)
	}
	for _, m := range messages {
		for part := range strings.SplitSeq(strings.TrimPrefix(m[1], "dormouse serve "), "...") {
			if !strings.Contains(code, strings.TrimSpace(part)) {
				t.Errorf("no message has %q", part)
			}
		}
	}
}

// TestNoPageWritesATokenByTheShell: the shell empties the file before the verb can refuse, and
// leaves it readable by all.
func TestNoPageWritesATokenByTheShell(t *testing.T) {
	adds := regexp.MustCompile(`(?m)^.*tokens add .*$`)
	seen := 0
	for name, page := range pages(t) {
		for _, line := range adds.FindAllString(page, -1) {
			seen++
			if strings.HasPrefix(line, "$ ") && (strings.Contains(line, ">") || !strings.Contains(line, " --out ")) {
				t.Errorf("%s: let --out write the token\n\t%s", name, line)
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d lines of all pages make a token", seen)
	}
}

var (
	namedTest  = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")
	namedFault = regexp.MustCompile("`(\\d\\d-[a-z-]+)`")
	namedPath  = regexp.MustCompile("`((?:internal|cmd|examples)/[\\w./-]+)`")
	namedLog   = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| the log")
)

// TestWhatPagesNameIsThere: a page that says which test or planted fault holds a promise, or what
// stands in the log, must name one that exists.
func TestWhatPagesNameIsThere(t *testing.T) {
	tests, logged := testNames(t), sources(t, "internal/local")+sources(t, "internal/engine")
	for name, page := range pages(t) {
		for _, m := range namedTest.FindAllStringSubmatch(page, -1) {
			if !tests[m[1]] {
				t.Errorf("%s: there is no %s", name, m[1])
			}
		}
		for _, m := range namedFault.FindAllStringSubmatch(page, -1) {
			if _, err := os.Stat(filepath.Join(root, "internal/proof/sim/testdata/planted", m[1]+".txt")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, m := range namedPath.FindAllStringSubmatch(page, -1) {
			shown := slices.ContainsFunc(blocksOf(page), func(b block) bool { return b.file == m[1] })
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil && !shown {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, m := range namedLog.FindAllStringSubmatch(page, -1) {
			if !strings.Contains(logged, m[1]) {
				t.Errorf("%s: nothing logs %q", name, m[1])
			}
		}
	}
}

// sources are the Go files of a package, one behind the other.
func sources(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources in %s, %v", dir, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// testNames are all tests and fuzzers of the project, and those that packages offer.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	form := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	for _, top := range []string{"cmd", "internal", "examples"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range form.FindAllStringSubmatch(string(text), -1) {
				found[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}
