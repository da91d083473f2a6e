package suites

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestTheReportEndsOnOneLineOfCounts(t *testing.T) {
	r := Report{Suites: 2, Seed: 7, DynamoDB: "dynoxide", SQS: "elasticmq", Recordings: 100}
	b := &book{suite: "demo", report: &r, progress: io.Discard}
	b.check("it is so", nil)
	b.check("this, too", errors.New("it is not"))
	var out bytes.Buffer
	if err := r.Print(&out, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"FAILED: demo: this, too\n  it is not\n", "--seed 7 --dynamodb dynoxide --sqs elasticmq",
		"\n1 passed, 1 failed\ne2e: 2 suites, 2 checks, 1 failed; 0 invocations, 0 cold starts, 0 kills, 100 recordings, 0 mismatches; dynoxide and elasticmq, 0s\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); !strings.HasPrefix(lines[len(lines)-1], "e2e: 2 suites") {
		t.Errorf("the last line is %q", lines[len(lines)-1])
	}
	out.Reset()
	if err := r.Print(&out, true); err != nil || !strings.Contains(out.String(), `"why": "it is not"`) || !strings.Contains(out.String(), `"kills": 0`) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestIdsAndTimesAreReplacedByOrder(t *testing.T) {
	one := `{"id": "run_aaaaaaaaaaaa_0", "again": "run_aaaaaaaaaaaa_0", "thread": "thr_bbbbbbbbbbbb", "at": "2026-11-21T12:00:00.123Z", "latency_ms": 4}`
	other := `{"id": "run_cccccccccccc_0", "again": "run_cccccccccccc_0", "thread": "thr_dddddddddddd", "at": "2026-11-21T13:00:00.001Z", "latency_ms": 0}`
	a, b := newNames().replaced(one), newNames().replaced(other)
	if want := `{"id": "run#1", "again": "run#1", "thread": "thr#2", "at": "TIME", "latency_ms": OWN}`; a != want || b != want {
		t.Errorf("%s\n%s\n%s", a, b, want)
	}
	swapped := strings.Replace(other, `"again": "run_c`, `"again": "run_e`, 1)
	if newNames().replaced(swapped) == a {
		t.Error("another id in one place makes no difference")
	}
}

func TestADifferenceIsShownFromWhereItBegins(t *testing.T) {
	text := difference("a\nb\nc\nd", "a\nb\nx\nd")
	if !strings.Contains(text, "the same up to line 2") || !strings.Contains(text, "- c\n") || !strings.Contains(text, "+ x\n") {
		t.Error(text)
	}
}

func TestATextIsFoundByItsPath(t *testing.T) {
	body := `{"pending":[{"suspension":{"id":"sus_1"}}]}`
	if got, err := at(body, "pending.0.suspension.id"); err != nil || got != "sus_1" {
		t.Errorf("%q, %v", got, err)
	}
	for _, path := range []string{"pending.1.suspension.id", "pending.0.suspension", "nothing"} {
		if got, err := at(body, path); err == nil {
			t.Errorf("%s is %q", path, got)
		}
	}
}

func TestEachCallOfTheListHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range callList {
		if seen[c.name] || c.name == "" {
			t.Errorf("twice, or none: %q", c.name)
		}
		seen[c.name] = true
	}
}
