package dormouse_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// caseID is the id of a case, invariant or rule of the specification in Go code, a story or a
// planted fault. An escape in a URL, such as %C3, is none.
var caseID = regexp.MustCompile(`(?:^|[^%\w]|Test)(C\d{2,3}|H[ABCFKRT]?\d{1,2}|(?:I|RD|BD|TK|CH|UN)-\d|[Rr]ule [A-Z]\b)`)

// caseRow is the line of an id on a page of docs/spec.
var caseRow = regexp.MustCompile(`(?m)^\| ([A-Z]+-?\d+|rule [A-Z]) \| ([^|]{20,}\.) \|$`)

func TestTheSpecificationListsTheCasesThatTestsName(t *testing.T) {
	used, listed := casesUsed(t), casesListed(t)
	if len(used) < 200 {
		t.Fatalf("%d ids in use; the pattern finds too few", len(used))
	}
	for _, id := range slices.Sorted(maps.Keys(used)) {
		if listed[id] == "" {
			t.Errorf("%s uses %s; add a line to docs/spec that says what it demands", used[id], id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		if used[id] == "" {
			t.Errorf("%s lists %s, which no test uses; remove the line", listed[id], id)
		}
	}
}

// casesUsed maps each id to a file that uses it.
func casesUsed(t *testing.T) map[string]string {
	t.Helper()
	used := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".txt") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, line := range strings.Split(string(text), "\n") {
			// A second id is matched behind the blank that ends the first.
			for rest := line; ; {
				m := caseID.FindStringSubmatchIndex(rest)
				if m == nil {
					break
				}
				used[strings.Replace(rest[m[2]:m[3]], "Rule", "rule", 1)] = filepath.ToSlash(path)
				rest = rest[m[3]:]
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// casesListed maps each id to the page of docs/spec that lists it.
func casesListed(t *testing.T) map[string]string {
	t.Helper()
	pages, err := filepath.Glob("docs/spec/*.md")
	if err != nil || len(pages) < 2 {
		t.Fatalf("%d pages in docs/spec, %v", len(pages), err)
	}
	listed := map[string]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range caseRow.FindAllStringSubmatch(string(text), -1) {
			if listed[m[1]] != "" {
				t.Errorf("%s and %s list %s", listed[m[1]], page, m[1])
			}
			listed[m[1]] = page
		}
	}
	return listed
}
