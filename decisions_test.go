package dormouse_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateDecisions = flag.Bool("update-decisions", false, "rewrite docs/decisions/README.md")

// decisionFile is the name of a note: the date of the decision, then its subject.
var decisionFile = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})-[a-z0-9-]+\.md$`)

// decisionLink is a link to another note or page.
var decisionLink = regexp.MustCompile(`\]\(([\w./-]+)(?:#[\w-]+)?\)`)

func TestTheIndexListsEveryDecision(t *testing.T) {
	const index = "docs/decisions/README.md"
	want := decisionIndex(t)
	if *updateDecisions {
		if err := os.WriteFile(index, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(index); err != nil || string(got) != want {
		t.Errorf("%s doesn't list the notes beside it (%v): go test . -run %s -update-decisions", index, err, t.Name())
	}
}

// decisionIndex lists the notes of docs/decisions, newest first, and checks their form and links.
func decisionIndex(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("docs/decisions/2*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d notes in docs/decisions, %v", len(files), err)
	}
	slices.SortStableFunc(files, func(a, b string) int {
		return strings.Compare(filepath.Base(b)[:10], filepath.Base(a)[:10])
	})
	var b strings.Builder
	b.WriteString("# Decisions\n\nWhy dependencies and mechanisms are as they are. Each note has the date and status of a decision,\n" +
		"its context, the decision and its consequences. This list is generated from the notes by\n`decisions_test.go`; do not edit.\n\n|date|decision|\n|---|---|\n")
	for _, file := range files {
		name := decisionFile.FindStringSubmatch(filepath.Base(file))
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		title, rest, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		if name == nil || title == "" || !strings.HasPrefix(rest, "\n"+name[1]) {
			t.Errorf("%s: a note is named for its date and starts with its title and that date", file)
			continue
		}
		at := 0
		for _, part := range []string{"\n\n**Context.** ", "\n\n**Decision.** ", "\n\n**Consequences.** "} {
			found := strings.Index(rest[at:], part)
			if found < 0 {
				t.Errorf("%s: a note has a context, a decision and consequences, in this order; %q is missing", file, strings.TrimSpace(part))
				break
			}
			at += found
		}
		for _, m := range decisionLink.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			}
		}
		fmt.Fprintf(&b, "|%s|[%s](%s)|\n", name[1], title, name[0])
	}
	return b.String()
}
