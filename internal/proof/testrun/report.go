package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is a line of go test -json; of a build that failed, ImportPath says which package's.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	Elapsed    float64 // seconds
}

// report follows the events and prints what a person wants to see of them.
type report struct {
	out   io.Writer
	total int // packages
	done  int

	said    map[place][]string // output of what has not ended
	skipped map[string][]string
	tests   int
	failed  int
}

type place struct{ pkg, test string }

func newReport(out io.Writer, packages int) *report {
	return &report{out: out, total: packages, said: map[place][]string{}, skipped: map[string][]string{}}
}

// line takes one line of go test's output. One that is no event is printed as it is.
func (r *report) line(text []byte) {
	var e event
	if json.Unmarshal(text, &e) != nil {
		r.printf("%s\n", text)
		return
	}
	at := place{e.Package, e.Test}
	switch e.Action {
	case "output":
		r.said[at] = append(r.said[at], e.Output)
	case "build-output":
		r.printf("%s", e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageEnds(e)
		} else {
			r.testEnds(e)
		}
		delete(r.said, at)
	}
}

func (r *report) testEnds(e event) {
	r.tests++
	at := place{e.Package, e.Test}
	switch e.Action {
	case "fail":
		r.failed++
		r.printf("%s", strings.Join(r.said[at], ""))
	case "skip":
		reason := reasonOf(r.said[at])
		r.skipped[reason] = append(r.skipped[reason], short(e.Package)+"."+e.Test)
	}
}

// where is how a message of a test begins: "    turns.go:29: ".
var where = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

// reasonOf is what a test said when it was skipped. A suite that several packages share says it in
// a file without _test in its name.
func reasonOf(said []string) string {
	for _, line := range said {
		if at := where.FindString(line); at != "" {
			return strings.TrimSpace(line[len(at):])
		}
	}
	return "no reason given"
}

func (r *report) packageEnds(e event) {
	r.done++
	word := "ok"
	switch {
	case e.Action == "fail":
		word = "FAIL"
		r.printf("%s", strings.Join(r.said[place{e.Package, ""}], ""))
		for at, said := range r.said { // a test that was running when the process ended
			if at.pkg == e.Package && at.test != "" {
				r.printf("%s", strings.Join(said, ""))
			}
		}
	case e.Action == "skip":
		word = "no tests"
	}
	r.printf("[%3d of %d] %-8s %6.1fs  %s\n", r.done, r.total, word, e.Elapsed, short(e.Package))
}

func short(pkg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pkg, "github.com/dormouse-dev/dormouse"), "/")
}

// end sums up. Reasons are listed with how many tests they kept from running.
func (r *report) end(took time.Duration) {
	reasons := make([]string, 0, len(r.skipped))
	skipped := 0
	for reason, tests := range r.skipped {
		reasons = append(reasons, reason)
		skipped += len(tests)
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		tests := r.skipped[reason]
		slices.Sort(tests)
		r.printf("skipped %2d: %s (%s)\n", len(tests), reason, some(tests))
	}
	r.printf("%d packages, %d tests: %d failed, %d skipped, in %s\n", r.done, r.tests, r.failed, skipped, took.Round(time.Second/10))
}

// some is the first few of a list.
func some(tests []string) string {
	const most = 3
	if len(tests) <= most {
		return strings.Join(tests, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(tests[:most], ", "), len(tests)-most)
}

func (r *report) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(r.out, format, args...) // a terminal that is gone changes no result
}
