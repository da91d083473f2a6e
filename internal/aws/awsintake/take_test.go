package awsintake

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awstest"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

func TestAMessageOfTheIntakeQueueStartsARunOfTheQueuesTenant(t *testing.T) {
	r := newRig(t)
	r.want("again", r.file("sqs_intake.json"), []string(nil))
	r.want("tenants", r.tenants, []string{"acme"})
	r.want("asked", r.asked, []intake.Message{{IdempotencyKey: "ticket-4711",
		StartRequest: wire.StartRequest{Agent: "refund-desk", Input: json.RawMessage(`"Please pay order B-02 back."`)}}})
	r.want("metrics", r.metrics(), map[string]float64{"RunsStarted": 1})
	r.known = true
	r.want("again, the second time", r.file("sqs_intake.json"), []string(nil))
	r.want("lines of metrics", strings.Count(r.out.String(), "\n"), 1)
}

func TestFatesOfAMessageOfTheIntakeQueue(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refuses error
		times   int
		outcome intake.Outcome
		again   bool
		metric  string
	}{
		{"a thread that is busy", &refusal.Error{Code: refusal.CodeRunOpen, Detail: "busy"}, 3, intake.Failed, true, "IntakeBusy"},
		{"a thread that is busy, and the message had its turns", &refusal.Error{Code: refusal.CodeRunOpen, Detail: "busy"}, 4, intake.Busy, false, "IntakeBusy"},
		{"a store that is busy", engine.ErrUnavailable, 1, intake.Failed, true, "IntakeBusy"},
		{"a newer program's thread", engine.ErrNewerSchema, 1, intake.Failed, true, "IntakeBusy"},
		{"an agent that is not there", &refusal.Error{Code: refusal.CodeAgentNotFound, Detail: "none"}, 1, intake.Dead, false, "IntakeDead"},
		{"a fault of ours", errors.New("broken"), 3, intake.Failed, true, "IntakeErrors"},
		{"a fault of ours, too often", errors.New("broken"), 4, intake.Dead, false, "IntakeDead"},
		{"handed over too often", nil, 5, intake.Dead, false, "IntakeDead"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.refuses = tt.refuses
			const message = `{"idempotency_key":"k","agent":"a","input":"go"}`
			again := r.invoke(t.Context(), awstest.Message(r.T, intakeARN, message, tt.times))
			if len(r.moved) != 1 || r.moved[0].Outcome != tt.outcome || r.moved[0].Body != message || (len(again) == 1) != tt.again {
				t.Errorf("moved %+v, again %v", r.moved, again)
			}
			if tt.metric == "" {
				r.want("lines of metrics", r.out.String(), "")
			} else {
				r.want("metrics", r.metrics(), map[string]float64{tt.metric: 1})
			}
		})
	}
}

func TestAMessageThatCannotBeMovedComesAgain(t *testing.T) {
	r := newRig(t)
	r.refuses, r.broken = &refusal.Error{Code: refusal.CodeAgentNotFound, Detail: "none"}, engine.ErrUnavailable
	r.want("again", r.file("sqs_intake.json"), []string{"2e1424d4-f796-459a-8184-9c92662be6da"})
	r.want("lines of metrics", r.out.String(), "")
}

func TestAReturnedMessageSaysHowOften(t *testing.T) {
	r := newRig(t)
	m := readEvent(t, "sqs_intake_returned.json").Records[0]
	if d := delivery(m, "acme", nil); d.Returned != 2 || d.Attempts != 3 || d.Tenant != "acme" {
		t.Errorf("delivery %+v", d)
	}
	r.want("again", r.file("sqs_intake_returned.json"), []string(nil))
}

// A message of a queue that doubles everything, for a thread that is busy: while it is hidden it is
// not doubled again.
func TestABusyMessageIsHiddenBeforeItIsSentAnew(t *testing.T) {
	r := newRig(t)
	r.refuses = &refusal.Error{Code: refusal.CodeRunOpen, Detail: "busy"}
	for n := 1; n <= maxFailures; n++ {
		r.moved, r.after = nil, nil
		r.invoke(t.Context(), awstest.Message(r.T, intakeARN, `{"idempotency_key":"k","agent":"a","input":"x"}`, n))
		if len(r.moved) != 1 {
			t.Fatalf("hand-over %d: %+v", n, r.moved)
		}
		// hidden, and handed over again
		want, after := intake.Failed, time.Second<<(2*(n-1))
		if n == maxFailures {
			want = intake.Busy // sent anew
		}
		if r.moved[0].Outcome != want || r.after[0] != after {
			t.Errorf("hand-over %d: %+v after %s, want %v after %s", n, r.moved[0], r.after[0], want, after)
		}
	}
}
