package emf_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/aws/emf"
)

func at() time.Time { return time.UnixMilli(1_700_000_000_123) }

func TestOneLineOfTheEmbeddedMetricFormat(t *testing.T) {
	var out bytes.Buffer
	c := emf.Counts{}
	c.Add(emf.Steps, 1)
	c.Add(emf.WaitSeconds, 1.5)
	c.Add(emf.Steps, 2)
	if err := emf.New(&out, "prod", at).Write(c); err != nil {
		t.Fatal(err)
	}
	want := `{"Stack":"prod","Steps":3,"WaitSeconds":1.5,"_aws":{"Timestamp":1700000000123,"CloudWatchMetrics":[{"Namespace":"Dormouse",` +
		`"Dimensions":[["Stack"]],"Metrics":[{"Name":"Steps","Unit":"Count"},{"Name":"WaitSeconds","Unit":"Seconds"}]}]}}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
}

func TestNothingCountedIsNoLineAndZeroIsOne(t *testing.T) {
	var out bytes.Buffer
	m := emf.New(&out, "prod", at)
	if err := m.Write(emf.Counts{}); err != nil || out.Len() != 0 {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
	c := emf.Counts{}
	c.Add(emf.Overdue, 0)
	if err := m.Write(c); err != nil || !strings.Contains(out.String(), `"Overdue":0`) {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
}

func TestAMetricThatIsNotListedIsRefused(t *testing.T) {
	var out bytes.Buffer
	if err := emf.New(&out, "prod", at).Write(emf.Counts{"Made up": 1}); !errors.Is(err, emf.ErrName) || out.Len() != 0 {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
}

// CloudWatch takes at most 100 metrics of a line.
func TestEveryMetricFitsOnOneLine(t *testing.T) {
	var out bytes.Buffer
	c := emf.Counts{}
	for _, n := range emf.Names() {
		c.Add(n, 1)
	}
	if len(c) != len(emf.Names()) || len(c) > 100 {
		t.Fatalf("%d names, %d different ones", len(emf.Names()), len(c))
	}
	if err := emf.New(&out, "prod", at).Write(c); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
}

func TestLinesOfInvocationsSideBySideStayWhole(t *testing.T) {
	var out bytes.Buffer
	m := emf.New(&out, "prod", at)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := m.Write(emf.Counts{emf.Steps: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 20 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

// A failure also counts for the version of its function, and nothing else does.
func TestAFailureHasTheVersionOfItsFunction(t *testing.T) {
	var out bytes.Buffer
	c := emf.Counts{emf.StepErrors: 1, emf.ClaimsLost: 2}
	if err := emf.New(&out, "prod", at).Of("prod-step", "7").Write(c); err != nil {
		t.Fatal(err)
	}
	want := `{"ClaimsLost":2,"Function":"prod-step","Stack":"prod","StepErrors":1,"Version":"7","_aws":{"Timestamp":1700000000123,"CloudWatchMetrics":[` +
		`{"Namespace":"Dormouse","Dimensions":[["Stack"]],"Metrics":[{"Name":"ClaimsLost","Unit":"Count"},{"Name":"StepErrors","Unit":"Count"}]},` +
		`{"Namespace":"Dormouse","Dimensions":[["Stack","Function","Version"]],"Metrics":[{"Name":"StepErrors","Unit":"Count"}]}]}}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
	for _, version := range []string{"", "$LATEST"} {
		out.Reset()
		if err := emf.New(&out, "prod", at).Of("prod-stream", version).Write(c); err != nil || strings.Contains(out.String(), "Version") {
			t.Errorf("of version %q: %s, %v", version, out.String(), err)
		}
	}
}
