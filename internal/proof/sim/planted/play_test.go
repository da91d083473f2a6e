package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

func TestTheSeedAndTheFirstViolationAreReadFromWhatATestSaid(t *testing.T) {
	for name, c := range map[string]struct {
		said      string
		seed      uint64
		violation string
	}{
		"a violation": {"--- FAIL: TestSchedules (0.10s)\n    schedules_test.go:132: met: bodies 3\n" +
			"    schedules_test.go:136: seed 27 at 00:00:04.101: I-5: stuck\n" +
			"        seed 27 at 00:00:05.000: I-2: lost\n" +
			"        again with: go test ./internal/proof/sim -run TestSchedules -sim.seed 27\nFAIL\n", 27, "I-5: stuck"},
		"a panic":      {"panic: the world: index out of range\n\ngoroutine 1 [running]:\n", 0, "panic: the world: index out of range"},
		"another test": {"--- FAIL: TestOther (0.10s)\n    other_test.go:7: two and two are five\nFAIL\n", 0, "two and two are five"},
		"nothing":      {"FAIL\n", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if seed, violation := readViolation(c.said); seed != c.seed || violation != c.violation {
				t.Fatalf("%q was read as seed %d, %q", c.said, seed, violation)
			}
		})
	}
}

func TestProgressIsPassedOnAndCounted(t *testing.T) {
	var progress bytes.Buffer
	f := &field{progress: &progress}
	played, rest := f.follow("01-x", strings.NewReader(
		"sim: 500 of 1000 schedules, 100 a second\npanic: stuck\nsim: 812 schedules from 1 in 8s, 1 violations\n"))
	if played != 812 || rest != "panic: stuck\n" {
		t.Errorf("it said that %d were played, and %q", played, rest)
	}
	if want := "01-x: 500 of 1000 schedules, 100 a second\n01-x: 812 schedules from 1 in 8s, 1 violations\n"; progress.String() != want {
		t.Errorf("the progress is %q", progress.String())
	}
}

func TestWhatIsMissedIsNamedAndIsNotGood(t *testing.T) {
	var out bytes.Buffer
	told := reporter(&out, false)
	s := sum{planted: 2, unchanged: result{name: asItIs, schedules: 8112, took: time.Minute}}
	for _, r := range []result{
		{name: "01-a", found: true, schedules: 8112, took: time.Second, violation: "I-5"},
		{name: "02-b", schedules: 100_000, took: time.Hour},
	} {
		told.one(r)
		s.add(r)
	}
	told.sum(s)
	want := `01-a                                     found after   8,112,     1s  I-5
02-b                                     NOT FOUND in 100,000 schedules, 1h0m0s
the code as it is: nothing found in 8,112 schedules, 1m0s
not found: 02-b
planted: 2 faults, 1 found, the slowest after 8,112 schedules
`
	if out.String() != want || s.good() {
		t.Errorf("good: %v\n%s", s.good(), out.String())
	}
}

func TestACodeThatIsWrongAsItIsIsNotGood(t *testing.T) {
	s := sum{planted: 1, found: 1, unchanged: result{found: true, violation: "I-1"}}
	if reporter(io.Discard, true).sum(s); s.good() {
		t.Error("it was called good")
	}
}

func TestFaultsAreChosenByPartsOfTheirNames(t *testing.T) {
	all := []fault{{name: "01-a"}, {name: "02-b"}, {name: "03-ab"}}
	for only, want := range map[string]int{"": 3, "a": 2, "02": 1, "02,03": 2, "a,b": 3, "z": 0} {
		if got := chosen(all, only); len(got) != want {
			t.Errorf("%q chooses %v", only, got)
		}
	}
}
