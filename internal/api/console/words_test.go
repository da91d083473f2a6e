package console

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

var (
	action = regexp.MustCompile(`\{\{.*?\}\}`)
	markup = regexp.MustCompile(`(?s)<[^>]*>`)
	letter = regexp.MustCompile(`[A-Za-z]{2,}`)
	said   = regexp.MustCompile(`say\(?\s*"([a-z_.]+)"`)
	ofWord = regexp.MustCompile(`printf "([a-z]+\.)%s`)
)

// TestTemplatesHaveNoWordsOfTheirOwn: all English is in words.txt, every name that is used is
// there, and every name that is there is used.
func TestTemplatesHaveNoWordsOfTheirOwn(t *testing.T) {
	used := map[string]bool{}
	note := func(text string) {
		for _, m := range said.FindAllStringSubmatch(text, -1) {
			// the rest of a name that ends with a dot is what the journal has
			used[m[1]] = !strings.HasSuffix(m[1], ".")
		}
		for _, m := range ofWord.FindAllStringSubmatch(text, -1) {
			for name := range words {
				used[name] = used[name] || strings.HasPrefix(name, m[1])
			}
		}
	}
	files, err := filepath.Glob("templates/*.html")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		note(string(text))
		bare := markup.ReplaceAllString(action.ReplaceAllString(string(text), ""), "")
		if own := letter.FindString(strings.ReplaceAll(bare, "USD", "")); own != "" {
			t.Errorf("%s says %q itself", file, own)
		}
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range sources {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		note(string(text))
	}
	for _, prefix := range []string{"reason.", "outcome.", "line.", "status.", "unit.", "tool."} {
		for name := range words {
			used[name] = used[name] || strings.HasPrefix(name, prefix)
		}
	}
	for _, w := range liveWords {
		used["live."+w.Name] = strings.Contains(script, `"`+w.Name+`"`)
	}
	for name := range words {
		if !used[name] && !strings.HasSuffix(name, ".title") {
			t.Errorf("%s is said nowhere", name)
		}
	}
	for name, is := range used {
		if _, known := words[name]; is && !known {
			t.Errorf("words.txt lacks %s", name)
		}
	}
}

// Everything that the journal can say has words.
func TestWhatTheJournalSaysHasWords(t *testing.T) {
	var names []string
	for _, o := range core.CallOutcomes {
		names = append(names, "outcome."+string(o.Outcome))
	}
	for _, s := range query.RunStatuses {
		names = append(names, "status."+s)
	}
	for _, r := range query.RunReasons {
		names = append(names, "reason."+r)
	}
	for _, k := range query.CallKinds {
		names = append(names, "asks."+k, "asks."+k+".end")
	}
	for _, name := range names {
		if _, known := words[name]; !known {
			t.Errorf("words.txt lacks %s", name)
		}
	}
}

func TestDurationsInWords(t *testing.T) {
	for of, want := range map[time.Duration]string{0: "0 ms", 999 * time.Millisecond: "999 ms", 1250 * time.Millisecond: "1.2 s", 90 * time.Second: "1 min",
		119 * time.Minute: "119 min", 2 * time.Hour: "2 hours", 47 * time.Hour: "47 hours", 48 * time.Hour: "2 days"} {
		if got := inWords(of); got != want {
			t.Errorf("%v is %q, want %q", of, got, want)
		}
	}
}

func TestAgesHaveNoFractions(t *testing.T) {
	for of, want := range map[time.Duration]string{34 * time.Millisecond: "1 s", 32900 * time.Millisecond: "32 s", 90 * time.Second: "1 min"} {
		if got := ago(of); got != want {
			t.Errorf("%v is %q, want %q", of, got, want)
		}
	}
}
