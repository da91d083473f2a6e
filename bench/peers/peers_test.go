//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asDesk {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestDormouseIsMeasured is the smallest comparison: with itself.
func TestDormouseIsMeasured(t *testing.T) {
	b, err := newBench(options{peers: []string{ours.name}, steps: []int{3, 5}, rounds: 2, work: t.TempDir(), limit: time.Minute, pace: pace{warmUp: 3, least: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.model.close()
	if err := b.rounds(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, steps := range b.steps {
		found := b.figures[ours.name][steps]
		if len(found) != 2 {
			t.Fatalf("%d rounds of %d steps: %v", len(found), steps, b.failed)
		}
		for _, f := range found {
			if f.asked != 1 || f.wall <= 0 || f.decision <= 0 {
				t.Errorf("%d steps: %+v", steps, f)
			}
		}
	}
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writePage(page, b.draw()); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(page)
	if !regexp.MustCompile(`(?s)^before\n.*\|5\|Dormouse .*after\n$`).Match(text) || strings.Contains(string(text), "old") {
		t.Errorf("the page is %s", text)
	}
}

// TestVersionsArePinned looks for the version that the report names.
func TestVersionsArePinned(t *testing.T) {
	for _, p := range all[1:] {
		if version := p.version(p.source()); !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) {
			t.Errorf("%s has version %q", p.name, version)
		}
	}
}

// TestTheProgramsOfPeersAreWellFormed compiles them, without what they import.
func TestTheProgramsOfPeersAreWellFormed(t *testing.T) {
	for _, check := range [][]string{{"node", "--check", "langgraph-js/main.mjs"}, {"node", "--check", "restate/main.mjs"},
		{"python3", "-c", "compile(open('dbos/main.py').read(), 'dbos', 'exec')"}, {"python3", "-c", "compile(open('langgraph-py/main.py').read(), 'langgraph-py', 'exec')"},
		{"python3", "-c", "compile(open('lambda/main.py').read(), 'lambda', 'exec')"}, {"gofmt", "-e", "eino/main.go", "temporal/main.go"}} {
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("%s is not installed", check[0])
			continue
		}
		if out, err := exec.Command(check[0], check[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", check, out)
		}
	}
}
