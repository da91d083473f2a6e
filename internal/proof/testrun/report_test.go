package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheReportSaysHowFarItIsAndWhatFailed(t *testing.T) {
	var out bytes.Buffer
	r := newReport(&out, 3)
	for line := range strings.Lines(`{"Action":"output","Package":"p/a","Test":"TestBad","Output":"    a_test.go:3: want 1, seed 7\n"}
{"Action":"fail","Package":"p/a","Test":"TestBad"}
{"Action":"output","Package":"p/a","Output":"FAIL\n"}
{"Action":"fail","Package":"p/a","Elapsed":1.5}
{"Action":"output","Package":"p/b","Test":"TestLong","Output":"    b_test.go:9: make long plays it: it kills servers\n"}
{"Action":"skip","Package":"p/b","Test":"TestLong"}
{"Action":"output","Package":"p/b","Test":"TestQueue","Output":"    turns.go:29: this queue does not promise turns\n"}
{"Action":"skip","Package":"p/b","Test":"TestQueue"}
{"Action":"output","Package":"p/b","Test":"TestGood","Output":"    b_test.go:12: a word that is not shown\n"}
{"Action":"pass","Package":"p/b","Test":"TestGood"}
{"Action":"pass","Package":"p/b","Elapsed":0.25}
{"Action":"build-output","ImportPath":"p/c","Output":"c.go:1: syntax error\n"}
not an event
{"Action":"fail","Package":"p/c"}
`) {
		r.line([]byte(strings.TrimSpace(line)))
	}
	r.end(90 * time.Second)
	want := `    a_test.go:3: want 1, seed 7
FAIL
[  1 of 3] FAIL        1.5s  p/a
[  2 of 3] ok          0.2s  p/b
c.go:1: syntax error
not an event
[  3 of 3] FAIL        0.0s  p/c
skipped  1: make long plays it: it kills servers (p/b.TestLong)
skipped  1: this queue does not promise turns (p/b.TestQueue)
3 packages, 4 tests: 1 failed, 2 skipped, in 1m30s
`
	if got := out.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A process that ends in the middle of a test leaves no event of the test's end.
func TestWhatATestSaidBeforeItsProcessEndedIsShown(t *testing.T) {
	var out bytes.Buffer
	r := newReport(&out, 1)
	r.line([]byte(`{"Action":"output","Package":"p","Test":"TestExits","Output":"seed 9\n"}`))
	r.line([]byte(`{"Action":"fail","Package":"p"}`))
	if got := out.String(); got != "seed 9\n[  1 of 1] FAIL        0.0s  p\n" {
		t.Error(got)
	}
}

func TestTheExitCodeIsThatOfGoTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Error(\"as planted\") }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out, errs bytes.Buffer
	code, err := run(context.Background(), []string{"-count=1", "./..."}, &out, &errs)
	if err != nil || code != 1 || !strings.Contains(out.String(), "m_test.go:5: as planted") || !strings.Contains(out.String(), "1 failed") {
		t.Errorf("code %d, %v: %s%s", code, err, out.String(), errs.String())
	}
}
