package awsintake

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/aws/awstest"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

func readEvent(t *testing.T, name string) (e events.SQSEvent) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(raw, &e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// asked is what starts were asked for, as text.
func (r *rig) texts() (texts []string) {
	for _, m := range r.asked {
		texts = append(texts, m.IdempotencyKey+" "+m.Agent+" "+string(m.Metadata))
	}
	return texts
}

// input is the event that a run was started with.
func (r *rig) input(n int) map[string]any {
	r.Helper()
	var parts []core.Part
	if err := json.Unmarshal(r.asked[n].Input, &parts); err != nil || len(parts) != 1 || parts[0].Type != "text" {
		r.Fatalf("the input is %s, %v", r.asked[n].Input, err)
	}
	var event map[string]any
	if err := json.Unmarshal([]byte(parts[0].Text), &event); err != nil {
		r.Fatal(err)
	}
	return event
}

func TestAnEventOfEventBridgeStartsARun(t *testing.T) {
	r := newRig(t)
	r.want("again", r.file("sqs_eventbridge.json"), []string(nil))
	r.want("asked", r.texts(), []string{`6a7e8feb-b491-4cf7-a9f1-bf3703467718 refund-desk {"detail-type":"Order Complaint","source":"shop.orders"}`})
	r.want("the order in the input", r.input(0)["detail"].(map[string]any)["order"], any("B-02"))
}

func TestEachRecordOfS3StartsARun(t *testing.T) {
	r := newRig(t)
	r.want("again", r.file("sqs_s3.json"), []string(nil))
	r.want("asked", r.texts(), []string{
		`acme-complaints/2026/letter+one.txt/0055AED6DCD90281E5 refund-desk {"bucket":"acme-complaints","key":"2026/letter one.txt"}`,
		`acme-complaints/2026/caf%C3%A9.txt/0055AED6DCD90281E6 refund-desk {"bucket":"acme-complaints","key":"2026/café.txt"}`})
	r.want("the name in the input", r.input(1)["eventName"], any("ObjectCreated:Put"))
	r.want("metrics", r.metrics(), map[string]float64{"RunsStarted": 2})
}

func TestAPartOfAnEventThatIsBusyIsPutBackAlone(t *testing.T) {
	r := newRig(t)
	r.refuses = &refusal.Error{Code: refusal.CodeRunOpen, Detail: "busy"}
	r.want("again", r.file("sqs_s3.json"), []string(nil))
	if len(r.moved) != 2 || r.moved[0].Outcome != intake.Busy {
		t.Fatalf("moved %+v", r.moved)
	}
	keys := r.texts()
	for n, m := range r.moved {
		r.asked = nil
		r.invoke(t.Context(), awstest.Message(r.T, intakeARN, m.Body, 1))
		r.want("what was put back asks for", r.texts(), keys[n:n+1])
	}
}

// The message comes again, and would be a dead letter with all of its parts in the end.
func TestAPartThatCannotBePutBackKeepsNoOtherFromIt(t *testing.T) {
	r := newRig(t)
	r.refuses, r.poison = &refusal.Error{Code: refusal.CodeRunOpen, Detail: "busy"}, "letter"
	again := r.file("sqs_s3.json")
	if len(again) != 1 || len(r.moved) != 3 || r.moved[2].Outcome != intake.Failed || !strings.Contains(r.moved[1].Body, "caf") || r.metrics()["IntakeBusy"] != 1 {
		t.Errorf("moved %+v, again %v, %v", r.moved, again, r.metrics())
	}
}

func TestTheTestEventOfS3IsDropped(t *testing.T) {
	r := newRig(t)
	r.h.settings.Agent = ""
	r.want("again", r.file("sqs_s3_test_event.json"), []string(nil))
	r.want("asked", len(r.asked)+len(r.moved), 0)
}

func TestWithoutAnAgentEventsArePutAsideWithWhatToSet(t *testing.T) {
	for _, name := range []string{"sqs_eventbridge.json", "sqs_s3.json"} {
		r := newRig(t)
		r.h.settings.Agent = ""
		r.want("again", r.file(name), []string(nil))
		if len(r.moved) == 0 || r.moved[0].Outcome != intake.Dead || r.moved[0].Code != intake.CodeNoAgent || len(r.asked) != 0 {
			t.Errorf("%s: moved %+v", name, r.moved)
		}
		if !strings.Contains(r.log.String(), "DORMOUSE_INTAKE_AGENT") {
			t.Errorf("%s: the log does not say what to set:\n%s", name, r.log.String())
		}
	}
}

func TestFormsThatAreNearlyKnown(t *testing.T) {
	s3 := func(record string) string { return `{"Records":[` + record + `]}` }
	long := strings.Repeat("x", 300)
	for _, tt := range []struct{ name, body, want string }{
		{"another service's records", s3(`{"eventSource":"aws:kinesis","kinesis":{}}`), "dead"},
		{"a record without sequencer and version", s3(`{"eventSource":"aws:s3","s3":{"bucket":{"name":"b"},"object":{"key":"k"}}}`), "dead"},
		{"a version for the sequencer", s3(`{"eventSource":"aws:s3","s3":{"bucket":{"name":"b"},"object":{"key":"k","versionId":"v"}}}`), "b/k/v"},
		{"a long key", s3(`{"eventSource":"aws:s3","s3":{"bucket":{"name":"b"},"object":{"key":"` + long + `","sequencer":"1"}}}`), "s3:sha256:"},
		{"no record", `{"Records":[]}`, "dead"},
		{"a record that is a text", s3(`"x"`), "dead"},
		{"our own form with a member of another", `{"idempotency_key":"k","agent":"a","input":"x","source":"y"}`, "dead"},
		{"a member twice", `{"id":"1","id":"2","source":"s","detail-type":"t"}`, "dead"},
		{"not JSON", `Records`, "dead"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.want("again", r.invoke(t.Context(), awstest.Message(r.T, intakeARN, tt.body, 1)), []string(nil))
			got := "dead"
			if len(r.asked) == 1 {
				got = r.asked[0].IdempotencyKey
			}
			if len(r.moved) != 1 || !strings.HasPrefix(got, tt.want) || len(got) > 255 || (got == "dead") != (r.moved[0].Outcome == intake.Dead) {
				t.Errorf("asked %q, moved %+v", got, r.moved)
			}
		})
	}
}
