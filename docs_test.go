package dormouse_test

import (
	"bufio"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// mostWords is how long the documentation may be for its readers: the pages of all five groups,
// with their code and tables. Decisions are a diary, and docs/spec is a list of cases. It was
// 30,000 before runs could notify people, 35,000 before they could start other runs, and 36,500
// before clients of other protocols could talk to them, 37,600 before there was a console, and
// 38,200 before it had accounts and decisions could be withdrawn, and 38,700 before stacks could
// move to restored tables and be made by the CDK and Terraform; what is new may add its own
// guides, and nothing else may grow.
const mostWords = 39500

// word is what a reader reads as one. The rules of tables and lists are none.
var word = regexp.MustCompile(`\S*[\pL\pN]\S*`)

func TestTheDocumentationIsShort(t *testing.T) {
	total := 0
	for path, text := range markdown(t) {
		group, _, _ := strings.Cut(strings.TrimPrefix(path, "docs/"), "/")
		switch {
		case strings.HasPrefix(path, "docs/") && group != "decisions" && group != "spec",
			path == "README.md", path == "CONTRIBUTING.md", path == "SECURITY.md":
			total += len(word.FindAllString(text, -1))
		}
	}
	if total > mostWords || total < mostWords/3 {
		t.Errorf("%d words; at most %d", total, mostWords)
	}
}

// TestTheIndexFitsOneScreen also holds that the index leads to every page.
func TestTheIndexFitsOneScreen(t *testing.T) {
	pages := markdown(t)
	index := pages["docs/README.md"]
	lines := 0
	for scanner := bufio.NewScanner(strings.NewReader(index)); scanner.Scan(); lines++ {
		if shown := links.ReplaceAllString(scanner.Text(), "[$1]"); utf8.RuneCountInString(shown) > 100 {
			t.Errorf("the index has a line of more than 100 columns: %s", shown)
		}
	}
	if lines > 40 {
		t.Errorf("the index has %d lines; a screen has 40", lines)
	}
	for path := range pages {
		dir, file := filepath.Split(path)
		inIndexed := (dir == "docs/decisions/" || dir == "docs/spec/") && file != "README.md"
		if rel, under := strings.CutPrefix(path, "docs/"); under && rel != "README.md" && !inIndexed && !strings.Contains(index, "("+rel+")") {
			t.Errorf("the index does not lead to %s", path)
		}
	}
}

// links are the links of a line: their text and where they lead.
var links = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	pages := markdown(t)
	seen := 0
	for path, text := range pages {
		for _, m := range links.FindAllStringSubmatch(withoutBlocks(text), -1) {
			if strings.Contains(m[2], "://") || strings.HasPrefix(m[2], "mailto:") {
				continue
			}
			seen++
			file, anchor, _ := strings.Cut(m[2], "#")
			to := filepath.ToSlash(filepath.Join(filepath.Dir(path), file))
			if file == "" {
				to = path
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: nothing is at %s", path, m[2])
			} else if page, is := pages[to]; anchor != "" && (!is || !slices.Contains(headings(page), anchor)) {
				t.Errorf("%s: %s has no heading for #%s", path, to, anchor)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d links were followed", seen)
	}
}

// markdown are all pages of the repository by path, test data aside.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "bin" || d.Name() == ".git" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		pages[filepath.ToSlash(path)] = string(text)
		return err
	})
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, %v: %s", len(pages), err, slices.Sorted(maps.Keys(pages)))
	}
	return pages
}

var blocks = regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]*`")

func withoutBlocks(page string) string { return blocks.ReplaceAllString(page, "") }

var heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)

// headings are the anchors of a page as GitHub makes them.
func headings(page string) (anchors []string) {
	times := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(page, ""), -1) {
		text := links.ReplaceAllString(m[1], "$1")
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, text)
		anchors = append(anchors, anchor)
		if n := times[anchor]; n > 0 {
			anchors = append(anchors, anchor+"-"+string(rune('0'+n)))
		}
		times[anchor]++
	}
	return anchors
}
