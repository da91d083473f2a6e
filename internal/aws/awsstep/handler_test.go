package awsstep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/awstest"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

const wakeARN = "arn:aws:sqs:eu-central-1:123456789012:dormouse-WakeQueue"

// rig is a handler with everything behind it played.
type rig struct {
	*testing.T
	h   *Handler
	out bytes.Buffer // metrics
	log bytes.Buffer

	report engine.Report // of each step
	fails  error
	panics string // the thread whose step panics
	woken  []engine.Wakeup
	budget time.Duration // that the last step had

	given  []time.Duration
	broken error // what queues answer
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, report: engine.Report{Outcome: engine.Released, Thread: "thr_demo", Run: "run_demo_0", Step: 2, Epoch: 3, Attempt: 1}}
	r.h = New(awsenv.Step{}, func() float64 { return 1 })
	r.h.engine, r.h.wake, r.h.Units = func(*slog.Logger) stepper { return r }, r, r
	r.h.Metrics, r.h.Logger = emf.New(&r.out, "test", func() time.Time { return time.UnixMilli(0) }), stack.Settings{Function: "step"}.Logger(&r.log)
	return r
}

func (r *rig) Step(ctx context.Context, w engine.Wakeup) (engine.Report, error) {
	r.woken = append(r.woken, w)
	if r.panics == w.Thread {
		panic("broken")
	}
	if deadline, ok := ctx.Deadline(); ok {
		r.budget = time.Until(deadline)
	}
	return r.report, r.fails
}

// Take is the meter's.
func (r *rig) Take() (read, write float64) { return 0, 0 }

func (r *rig) Nack(_ context.Context, _ engine.Delivery, delay time.Duration, _ string) error {
	r.given = append(r.given, delay)
	return r.broken
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

func TestAWakeUpIsOneStep(t *testing.T) {
	r := newRig(t)
	r.report.Commits, r.report.Asked, r.report.Bodies, r.report.InputTokens, r.report.OutputTokens = 2, true, 3, 100, 20
	r.report.TookOver, r.report.Waited, r.report.End = true, 90*time.Second, &core.Reason{Kind: core.Failed}
	r.want("again", r.file("sqs_wakeup.json"), []string(nil))
	r.want("woken", r.woken, []engine.Wakeup{{Tenant: "acme", Thread: "thr_demo"}})
	r.want("metrics", r.metrics(), map[string]float64{"Steps": 1, "Commits": 2, "ModelCalls": 1, "ToolCalls": 3, "InputTokens": 100,
		"OutputTokens": 20, "Takeovers": 1, "Waits": 1, "WaitSeconds": 90, "RunsDone": 1, "RunsFailed": 1})
	for _, key := range []string{`"run_id":"run_demo_0"`, `"thread_id":"thr_demo"`, `"step":2`, `"epoch":3`, `"attempt":1`, `"request_id":"req-1"`, `"function":"step"`} {
		if !strings.Contains(r.log.String(), key) {
			t.Errorf("%s is not in the log:\n%s", key, r.log.String())
		}
	}
}

// The time that a wake-up waits is from when it was to be visible, and that of its first delivery
// alone: later ones have waited for their own steps.
func TestAWakeUpMeasuresHowLongItWasLate(t *testing.T) {
	sent, delay := time.UnixMilli(1_700_000_000_000), "900"
	for _, c := range []struct {
		delay    *string
		receives string
		after    time.Duration
		want     any
	}{
		{nil, "1", 70 * time.Second, 70.0}, {&delay, "1", 970 * time.Second, 70.0}, {&delay, "1", 10 * time.Second, 0.0}, {nil, "2", 70 * time.Second, nil},
	} {
		r := newRig(t)
		r.report.Decided = 5 * time.Second
		r.h.now = func() time.Time { return sent.Add(c.after) }
		m := events.SQSMessage{MessageId: "m1", ReceiptHandle: "r1", Body: `{"tenant":"acme","thread":"thr_demo"}`, EventSourceARN: wakeARN,
			Attributes: map[string]string{"ApproximateReceiveCount": c.receives, "SentTimestamp": "1700000000000"}}
		if c.delay != nil {
			m.MessageAttributes = map[string]events.SQSMessageAttribute{"delay": {DataType: "Number", StringValue: c.delay}}
		}
		raw, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{m}})
		if err != nil {
			t.Fatal(err)
		}
		r.want("again", r.invoke(t.Context(), raw), []string(nil))
		got, measured := r.metrics()["WakeLagSeconds"]
		if measured != (c.want != nil) || measured && got != c.want {
			t.Errorf("delivery %s after %s waited %v, want %v", c.receives, c.after, got, c.want)
		}
		r.want("the wait of the decision", r.metrics()["DecisionToStepSeconds"], 5.0)
	}
}

func TestAStaleWakeUpIsUsedUp(t *testing.T) {
	r := newRig(t)
	r.report = engine.Report{Outcome: engine.Dropped, Thread: "thr_demo"}
	r.want("again", r.file("sqs_wakeup.json"), []string(nil))
	r.want("metrics", r.metrics(), map[string]float64{"ClaimsLost": 1})
}

func TestAStepThatFailedComesAgainLaterEachTime(t *testing.T) {
	r := newRig(t)
	r.fails = engine.ErrUnavailable
	for n, want := range map[int]time.Duration{1: 4 * time.Second, 2: 8 * time.Second, 5: 64 * time.Second, 30: 5 * time.Minute} {
		r.given = nil
		r.want("again", r.invoke(t.Context(), awstest.Message(r.T, wakeARN, `{"tenant":"acme","thread":"thr_demo"}`, n)), []string{"m1"})
		r.want("given back", r.given, []time.Duration{want})
	}
	r.h.Chance = func() float64 { return 0 }
	r.given = nil
	r.invoke(t.Context(), awstest.Message(r.T, wakeARN, `{"tenant":"acme","thread":"thr_demo"}`, 1))
	r.want("given back at the least", r.given, []time.Duration{2 * time.Second})
}

func TestTooLittleTimeIsNoError(t *testing.T) {
	r := newRig(t)
	r.fails, r.report = engine.ErrNoTime, engine.Report{Thread: "thr_demo"}
	r.want("again", r.file("sqs_wakeup.json"), []string{"059f36b4-87a3-44ab-83d2-661975830a7d"})
	r.want("lines of metrics", r.out.String(), "")
}

func TestAStepEndsBeforeItsInvocation(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r.invoke(ctx, awstest.Message(r.T, wakeARN, `{"tenant":"acme","thread":"thr_demo"}`, 1))
	if r.budget > 57*time.Second || r.budget < 30*time.Second {
		t.Errorf("the step had %s of a minute", r.budget)
	}
}

func TestAPanicCostsItsMessageAloneAnAttempt(t *testing.T) {
	r := newRig(t)
	r.panics = "thr_a"
	batch := events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m1", Body: `{"tenant":"acme","thread":"thr_a"}`, EventSourceARN: wakeARN},
		{MessageId: "m2", Body: `{"tenant":"acme","thread":"thr_b"}`, EventSourceARN: wakeARN}}}
	raw, err := json.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	r.want("again", r.invoke(t.Context(), raw), []string{"m1"})
	r.want("metrics", r.metrics(), map[string]float64{"StepErrors": 1, "Steps": 1, "EmptySteps": 1, "Commits": 0, "ToolCalls": 0, "InputTokens": 0, "OutputTokens": 0})
}

func TestWhatIsNotOursComesAgainUntilItIsADeadLetter(t *testing.T) {
	r := newRig(t)
	r.want("again", r.file("sqs_garbage.json"), []string{"e7a1d2c3-1111-4222-8333-944445555666"})
	r.want("woken", r.woken, []engine.Wakeup(nil))
	r.want("given back", r.given, []time.Duration{8 * time.Second})
	r.want("metrics", r.metrics(), map[string]float64{"Unreadable": 1})
	if strings.Contains(r.log.String(), "hello") {
		t.Errorf("the message is in the log:\n%s", r.log.String())
	}
}

func TestAMessageThatCannotBeGivenBackComesAgainAnyhow(t *testing.T) {
	r := newRig(t)
	r.fails, r.broken = errors.New("broken"), engine.ErrUnavailable
	r.want("again", r.file("sqs_wakeup.json"), []string{"059f36b4-87a3-44ab-83d2-661975830a7d"})
}
