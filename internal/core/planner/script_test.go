package planner_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is planned now into the scripts")

// TestScripts plays the scripts in testdata/plans. Each is a specification to read: what is known
// of a run, what happens to it, and the sequence of plans that [planner.Decide] makes of that.
//
//	# Lines with a number sign are prose.
//
//	acts, one in a line, see scriptActs
//	----
//	what is planned, up to an empty line
//
// After a change that is meant, go test ./internal/core/planner -run TestScripts -update writes
// what is planned now.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/plans/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts (%v)", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { playScript(t, path) })
	}
}

func playScript(t *testing.T, path string) {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := newScriptPlayer(t)
	var played strings.Builder
	for _, block := range readScript(string(raw)) {
		if len(block.acts) == 0 {
			played.WriteString(block.prose)
			continue
		}
		p.out.Reset()
		for _, act := range block.acts {
			p.act(act)
		}
		played.WriteString(block.prose + strings.Join(block.acts, "\n") + "\n----\n" + p.out.String() + "\n")
	}
	if got := strings.TrimRight(played.String(), "\n") + "\n"; got != string(raw) {
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("%s: planned is not what is written; -update writes it anew\n%s", path, firstDifference(string(raw), got))
	}
}

// scriptBlock is some acts and the prose before them. What is written behind the acts is compared
// as text.
type scriptBlock struct {
	prose string
	acts  []string
}

// readScript reads the blocks of a script and leaves out what is planned.
func readScript(text string) (blocks []scriptBlock) {
	var b scriptBlock
	planned := false
	for line := range strings.Lines(text) {
		bare := strings.TrimSuffix(line, "\n")
		switch {
		case planned && bare != "":
		case planned:
			blocks, b, planned = append(blocks, b), scriptBlock{}, false
		case bare == "----":
			planned = true
		case bare == "" || strings.HasPrefix(bare, "#"):
			b.prose += line
		default:
			b.acts = append(b.acts, bare)
		}
	}
	return append(blocks, b)
}

// firstDifference shows the first lines that differ, with a few before them.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	at := 0
	for at < len(w) && at < len(g) && w[at] == g[at] {
		at++
	}
	show := func(lines []string) string {
		return strings.Join(lines[max(0, min(at, len(lines))-4):min(len(lines), at+8)], "\n")
	}
	return "written:\n" + show(w) + "\nplanned:\n" + show(g)
}
