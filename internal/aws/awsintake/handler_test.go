package awsintake

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/awstest"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

const intakeARN = "arn:aws:sqs:eu-central-1:123456789012:dormouse-IntakeQueue"

// rig is a handler with everything behind it played.
type rig struct {
	*testing.T
	h   *Handler
	out bytes.Buffer // metrics
	log bytes.Buffer

	panics  string // the key whose start panics
	refuses error  // what starts are answered
	known   bool
	asked   []intake.Message
	tenants []string

	moved  []moved
	after  []time.Duration // of each
	broken error           // what queues answer
	poison string          // what they can't take
}

type moved struct {
	Body    string
	Outcome intake.Outcome
	Code    refusal.Code
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t}
	r.h = New(awsenv.Intake{}, func() float64 { return 1 })
	r.h.queue, r.h.starter, r.h.Units = r, r, r
	r.h.settings = stack.Intake{ARN: intakeARN, Tenant: "acme", Agent: "refund-desk"}
	r.h.Metrics, r.h.Logger = emf.New(&r.out, "test", func() time.Time { return time.UnixMilli(0) }), stack.Settings{Function: "intake"}.Logger(&r.log)
	return r
}

func (r *rig) Start(_ context.Context, c frontend.Caller, key string, req wire.StartRequest) (frontend.Started, error) {
	if r.panics == key {
		panic("broken")
	}
	r.tenants = append(r.tenants, c.Tenant)
	r.asked = append(r.asked, intake.Message{IdempotencyKey: key, StartRequest: req})
	return frontend.Started{Run: wire.Run{ID: "run_" + key}, New: !r.known}, r.refuses
}

// Take is the meter's.
func (r *rig) Take() (read, write float64) { return 0, 0 }

func (r *rig) Move(_ context.Context, d intake.Delivery, f intake.Result) (bool, error) {
	r.moved, r.after = append(r.moved, moved{string(d.Body), f.Outcome, f.Code}), append(r.after, f.After)
	if r.poison != "" && strings.Contains(string(d.Body), r.poison) {
		return false, engine.ErrUnavailable
	}
	return f.Outcome != intake.Failed && r.broken == nil, r.broken
}

// file invokes the function with an event, through the platform's own reading and writing, and
// returns the ids of the messages that come again.
func (r *rig) file(name string) []string {
	r.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		r.Fatal(err)
	}
	return r.invoke(r.Context(), raw)
}

func (r *rig) invoke(ctx context.Context, raw []byte) (again []string) {
	r.Helper()
	return awstest.Invoke(ctx, r.T, r.h.Handle, raw)
}

// metrics are those of the line that was written last.
func (r *rig) metrics() map[string]float64 {
	r.Helper()
	return awstest.LastMetrics(r.T, r.out.String())
}

func (r *rig) want(what string, got, want any) {
	r.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("%s (-want +got):\n%s\nthe log:\n%s", what, diff, r.log.String())
	}
}

func TestAPanicCostsItsMessageAloneAnAttempt(t *testing.T) {
	r := newRig(t)
	r.panics = "k1"
	batch := events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m1", Body: `{"idempotency_key":"k1","agent":"a","input":"go"}`, EventSourceARN: intakeARN},
		{MessageId: "m2", Body: `{"idempotency_key":"k2","agent":"a","input":"go"}`, EventSourceARN: intakeARN}}}
	raw, err := json.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	r.want("again", r.invoke(t.Context(), raw), []string{"m1"})
	r.want("moved", r.moved, []moved{{batch.Records[0].Body, intake.Failed, "internal"}, {batch.Records[1].Body, intake.Started, ""}})
	r.want("metrics", r.metrics(), map[string]float64{"IntakeErrors": 1, "RunsStarted": 1})
}

func TestAWakeUpIsNoRequest(t *testing.T) {
	r := newRig(t)
	r.want("again", r.file("sqs_garbage.json"), []string(nil))
	r.want("moved", r.moved, []moved{{`{"order":"B-02"}`, intake.Dead, "unknown_field"}})
	r.want("metrics", r.metrics(), map[string]float64{"IntakeDead": 1})
}
