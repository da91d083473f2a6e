package intake_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

const (
	bridged = `{"id":"e1","source":"shop","detail-type":"Paid","detail":{"order":"B-02"}}`
	stored  = `{"eventSource":"aws:s3","s3":{"bucket":{"name":"in"},"object":{"key":"a+b%2Fc.csv","sequencer":"0A"}}}`
)

func TestEventsOfOtherServicesAreOrders(t *testing.T) {
	for name, tt := range map[string]struct {
		body, agent string
		keys        []string // of each order; "" for one that is refused
		refused     refusal.Code
	}{
		"a message of ours":               {good, "desk", []string{"k1"}, ""},
		"an event of EventBridge":         {bridged, "desk", []string{"e1"}, ""},
		"one without an agent":            {bridged, "", []string{""}, intake.CodeNoAgent},
		"two objects of S3":               {`{"Records":[` + stored + `,` + strings.Replace(stored, `"0A"`, `"0B"`, 1) + `]}`, "desk", []string{"in/a+b%2Fc.csv/0A", "in/a+b%2Fc.csv/0B"}, ""},
		"a record of another service":     {`{"Records":[{"eventSource":"aws:sns"},` + stored + `]}`, "desk", []string{"", "in/a+b%2Fc.csv/0A"}, refusal.CodeInvalid},
		"what S3 sends when it is set up": {`{"Service":"Amazon S3","Event":"s3:TestEvent","Bucket":"in"}`, "desk", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			requests := intake.Requests([]byte(tt.body), tt.agent)
			if len(requests) != len(tt.keys) {
				t.Fatalf("%d requests: %+v", len(requests), requests)
			}
			for n, o := range requests {
				switch {
				case tt.keys[n] == "" && (o.Refused == nil || o.Refused.Outcome != intake.Dead || o.Refused.Code != tt.refused):
					t.Errorf("order %d is not refused: %+v", n, o.Refused)
				case tt.keys[n] != "":
					wantMessage(t, o, tt.keys[n])
				}
				if !json.Valid(o.Origin) {
					t.Errorf("order %d is put back as %q", n, o.Origin)
				}
			}
		})
	}
}

func wantMessage(t *testing.T, o intake.Request, key string) {
	t.Helper()
	m, err := intake.Read(o.Message)
	if err != nil || o.Refused != nil || m.IdempotencyKey != key {
		t.Errorf("key %q, %v, %+v; want key %q", m.IdempotencyKey, err, o.Refused, key)
	}
}

func TestOnlyAFailureOfOursKeepsAMessageWhole(t *testing.T) {
	parts := []intake.Result{{Outcome: intake.Started}, {Outcome: intake.Busy}, {Outcome: intake.Dead}, {Outcome: intake.Duplicate}}
	if f, stays := intake.Whole(parts); stays {
		t.Errorf("it stays, with %+v", f)
	}
	if f, stays := intake.Whole(append(parts, intake.Result{Outcome: intake.Failed, Detail: "broken"})); !stays || f.Detail != "broken" {
		t.Errorf("it does not stay: %+v", f)
	}
}

func TestABusyMessageWaitsLongerEachTime(t *testing.T) {
	for times, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 4 * time.Second, 4: 64 * time.Second} {
		if got := intake.Longer(time.Second, times); got != want {
			t.Errorf("handed over %d times: %v, want %v", times, got, want)
		}
	}
}

// Whatever is on the intake queue: nothing panics, and what is put elsewhere asks for the same run
// again.
func FuzzOrders(f *testing.F) {
	for _, seed := range []string{good, bridged, stored, `{"Records":[` + stored + `]}`, `{"Service":"Amazon S3","Event":"s3:TestEvent"}`} {
		f.Add(seed)
	}
	f.Add(`{"Records":[{"eventSource":"aws:s3","s3":{"bucket":{"name":"b"},"object":{"key":"%zz\u0000\ud800","sequencer":"1"}}},{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range intake.Requests([]byte(text), "desk") {
			if (o.Refused == nil) == (o.Message == nil) {
				t.Fatalf("%q: an order that is neither refused nor a message", text)
			}
			again := intake.Requests(o.Origin, "desk")
			if len(again) != 1 || string(again[0].Message) != string(o.Message) {
				t.Fatalf("%q: what would be put elsewhere, %q, asks for %+v and not for %q", text, o.Origin, again, o.Message)
			}
		}
	})
}
