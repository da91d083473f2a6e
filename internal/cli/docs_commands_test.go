package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// notCommands are indented lines of pages that are not typed, by their beginning, and why no test
// runs them.
var notCommands = map[string]string{
	"bench/peers/run": "it installs other programs; bench/peers has a test of its smallest comparison",
	"150 kills,":      "what a torture printed once; its numbers are of that machine",
	"docker run":      "another program; .ci/image starts the image",
	"go install":      "it holds from the first tag; cmd/dormouse/install_test.go holds go.mod to it",
	"http:":           "a part of an agent file",
	"sam build":       "another program, and an account of AWS",
}

var (
	indented = regexp.MustCompile(`(?m)^    (\S.*)$`)
	comment  = regexp.MustCompile(`\s+# .*$`)
	longFlag = regexp.MustCompile(`^--([a-z-]+)`)
)

// TestIndentedCommandsCouldBeTyped looks at the commands that pages show without what they print:
// they take minutes, or never end, so that they are not run. Their targets, packages, tests, verbs
// and flags must be there.
func TestIndentedCommandsCouldBeTyped(t *testing.T) {
	looked := 0
	for name, page := range pages(t) {
		for _, m := range indented.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
			line := comment.ReplaceAllString(m[1], "")
			if slices.ContainsFunc(keysOf(notCommands), func(begin string) bool { return strings.HasPrefix(line, begin) }) {
				continue
			}
			looked++
			if wrong := untypable(t, line); wrong != "" {
				t.Errorf("%s: %s\n\t%s", name, wrong, m[1])
			}
		}
	}
	if looked < 10 {
		t.Errorf("%d commands on all pages", looked)
	}
}

func keysOf(reasons map[string]string) (keys []string) {
	for key := range reasons {
		keys = append(keys, key)
	}
	return keys
}

// untypable says what is wrong with a command, or nothing.
func untypable(t *testing.T, line string) string {
	t.Helper()
	words := strings.Fields(line)
	switch filepath.Base(words[0]) {
	case "make":
		for _, target := range words[1:] {
			if !strings.Contains(target, "=") && !strings.Contains(read(t, "Makefile"), "\n"+target+":") {
				return "the Makefile has no target " + target
			}
		}
		return ""
	case "go":
		return untypableGo(t, words[1:])
	case "dormouse":
		return untypableVerb("dormouse", words[1:], func(args ...string) output { return here(t, "", args...) })
	case "dormouse-proof":
		return untypableVerb("dormouse-proof", words[1:], func(args ...string) output { return proves(t, args...) })
	case "export":
		if line == `export PATH="$PWD/bin:$PATH"` {
			return ""
		}
	}
	return "nobody knows whether this can be typed; show it as console, or name it in notCommands"
}

// untypableGo looks at go run and go test: the package is there, and so is each test that a flag
// names.
func untypableGo(t *testing.T, words []string) string {
	t.Helper()
	var dir string
	for _, word := range words {
		if strings.HasPrefix(word, "./") {
			dir = strings.TrimSuffix(word, "/...")
		}
	}
	if _, err := os.Stat(filepath.Join(root, dir)); dir == "" || err != nil {
		return "there is no package " + dir
	}
	for i, word := range words[:len(words)-1] {
		names := strings.Trim(words[i+1], "'\"")
		if !slices.Contains([]string{"-run", "-fuzz", "-bench"}, word) || names == "^$" {
			continue
		}
		for one := range strings.SplitSeq(names, "|") {
			one = strings.TrimPrefix(strings.Trim(one, "^$"), "Test")
			if !regexp.MustCompile(`\nfunc (Test|Fuzz|Benchmark)\w*` + regexp.QuoteMeta(strings.TrimPrefix(one, "Fuzz"))).MatchString(testSources(t, dir)) {
				return "nothing in " + dir + " is called " + one
			}
		}
	}
	return ""
}

func testSources(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// untypableVerb asks the help of a verb for the flags that are used.
func untypableVerb(program string, words []string, typed func(...string) output) string {
	asked := []string{words[0]}
	if slices.Contains([]string{"agents", "bench", "tokens", "runs"}, words[0]) && len(words) > 1 && !strings.HasPrefix(words[1], "-") {
		asked = append(asked, words[1])
	}
	help := typed(append(slices.Clone(asked), "--help")...)
	if help.exit != cmdline.ExitOK || !strings.Contains(help.stdout, program+" "+strings.Join(asked, " ")) {
		return "there is no verb " + strings.Join(asked, " ")
	}
	for _, word := range words {
		if m := longFlag.FindStringSubmatch(word); m != nil && !strings.Contains(help.stdout, "--"+m[1]+" ") {
			return strings.Join(asked, " ") + " has no flag --" + m[1]
		}
	}
	return ""
}
