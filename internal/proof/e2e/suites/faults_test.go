package suites

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/faultproxy"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/platform"
)

func TestAFaultThatWasAskedForAndDidNotHappenIsAFailure(t *testing.T) {
	all := Faults{Throttle: 0.1, Lose: 0.1, Double: 0.1}
	happened := Faulted{faultproxy.Counts{Calls: 9, Throttled: 1, Lost: 1}, 1}
	if err := all.met(happened); err != nil {
		t.Error(err)
	}
	if err := (Faults{}).met(Faulted{}); err != nil {
		t.Errorf("nothing was asked for: %v", err)
	}
	for what, n := range map[string]Faulted{
		"throttled a call":  {faultproxy.Counts{Calls: 9, Partial: 1, Lost: 1}, 1},
		"lost an answer":    {faultproxy.Counts{Calls: 9, Throttled: 1}, 1},
		"doubled a message": {faultproxy.Counts{Calls: 9, Throttled: 1, Lost: 1}, 0},
	} {
		if err := all.met(n); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: %v", n, err)
		}
	}
}

func TestTheSuiteWithFaultsRunsOnlyIfItIsNamed(t *testing.T) {
	for _, s := range all {
		if s.wanted(nil) != (s.name != FaultsSuite) || !s.wanted([]string{"demo", s.name}) || s.wanted([]string{"nothing"}) {
			t.Errorf("%s", s.name)
		}
	}
}

// TestAQueueThatHoldsAMessageIsNamed: with any of the three numbers, a dead letter included.
func TestAQueueThatHoldsAMessageIsNamed(t *testing.T) {
	held := map[string]string{}
	sqs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ QueueUrl string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		attributes := map[string]string{"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0", "ApproximateNumberOfMessagesDelayed": "0"}
		if name := held[in.QueueUrl]; name != "" {
			attributes[name] = "2"
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if err := json.NewEncoder(w).Encode(map[string]any{"Attributes": attributes}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(sqs.Close)
	target := &Target{Queues: map[string]string{"WakeQueue": sqs.URL + "/wake", "WakeDeadQueue": sqs.URL + "/dead"}}
	_, target.SQS = platform.Clients(sqs.URL, sqs.URL, func(string) string { return "" })
	if err := target.drained(t.Context()); err != nil {
		t.Error(err)
	}
	for url, name := range map[string]string{sqs.URL + "/wake": "ApproximateNumberOfMessagesNotVisible", sqs.URL + "/dead": "ApproximateNumberOfMessages"} {
		held = map[string]string{url: name}
		if err := target.drained(t.Context()); err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf("has %s = 2", name)) {
			t.Errorf("%v", err)
		}
	}
}

func TestTheReportSaysWhatWentWrongOnPurpose(t *testing.T) {
	var out bytes.Buffer
	if err := (Report{Faults: Faulted{faultproxy.Counts{Calls: 100, Throttled: 4, Partial: 1, Lost: 8}, 5}}).Print(&out, false); err != nil {
		t.Fatal(err)
	}
	if want := "faults: of 100 calls 4 were throttled, 1 batches handled in part, 8 answers lost; 5 messages doubled\n"; !strings.Contains(out.String(), want) {
		t.Error(out.String())
	}
	out.Reset()
	if err := (Report{}).Print(&out, true); err != nil || strings.Contains(out.String(), "faults") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
