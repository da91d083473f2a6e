package awsnotify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
)

// rig is a handler whose deliveries are played.
type rig struct {
	*testing.T
	h        *Handler
	out, log bytes.Buffer

	report delivery.Report
	fails  error
	panics bool
	broken error // what the queue answers
	woken  []engine.Wakeup
	budget time.Duration // that the last delivery had
	given  []time.Duration
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, report: delivery.Report{Claimed: true, Delivered: 2, Failed: 1, Buried: 1}}
	r.h = New(awsenv.Notify{}, nil, func() float64 { return 1 })
	r.h.deliverer, r.h.lines, r.h.Units = func(*slog.Logger) deliverer { return r }, r, r
	r.h.Metrics, r.h.Logger = emf.New(&r.out, "test", func() time.Time { return time.UnixMilli(0) }), stack.Settings{Function: "notify"}.Logger(&r.log)
	return r
}

func (r *rig) Deliver(ctx context.Context, w engine.Wakeup) (delivery.Report, error) {
	r.woken = append(r.woken, w)
	if r.panics {
		panic("broken")
	}
	if deadline, ok := ctx.Deadline(); ok {
		r.budget = time.Until(deadline)
	}
	return r.report, r.fails
}

func (r *rig) Nack(_ context.Context, _ engine.Delivery, delay time.Duration, _ string) error {
	r.given = append(r.given, delay)
	return r.broken
}

// Take is the meter's.
func (r *rig) Take() (read, write float64) { return 3, 4 }

// invoke hands messages to the function, through the platform's own reading and writing, and
// returns the ids of those that come again.
func (r *rig) invoke(ctx context.Context, bodies ...string) (again []string) {
	r.Helper()
	var e events.SQSEvent
	for i, body := range bodies {
		e.Records = append(e.Records, events.SQSMessage{MessageId: string(rune('a' + i)), ReceiptHandle: "r", Body: body,
			Attributes: map[string]string{"ApproximateReceiveCount": "3"}})
	}
	raw, err := json.Marshal(e)
	if err != nil {
		r.Fatal(err)
	}
	text, err := lambda.NewHandler(r.h.Handle).Invoke(ctx, raw)
	if err != nil {
		r.Fatal(err)
	}
	var answer events.SQSEventResponse
	if err := json.Unmarshal(text, &answer); err != nil {
		r.Fatal(err)
	}
	for _, f := range answer.BatchItemFailures {
		again = append(again, f.ItemIdentifier)
	}
	return again
}

const line = `{"tenant":"acme","thread":"thr_a","endpoint":"sink/sns"}`

func (r *rig) wrote(words ...string) {
	r.Helper()
	for _, word := range words {
		if !strings.Contains(r.out.String(), word) {
			r.Errorf("%s is not in %s", word, r.out.String())
		}
	}
}

func TestAMessageWorksOnItsLineWithinTheInvocation(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if again := r.invoke(ctx, line); again != nil || len(r.given) > 0 {
		t.Errorf("%v come again, after %v", again, r.given)
	}
	if want := (engine.Wakeup{Tenant: "acme", Thread: "thr_a", Endpoint: "sink/sns"}); len(r.woken) != 1 || r.woken[0] != want {
		t.Errorf("worked on %+v", r.woken)
	}
	if r.budget < 50*time.Second || r.budget > 58*time.Second {
		t.Errorf("the delivery had %s of a minute", r.budget)
	}
	r.wrote(`"NoticesDelivered":2`, `"NoticeFailures":1`, `"NoticesDead":1`, `"ReadUnits":3`, `"WriteUnits":4`)
}

func TestWhatFailsComesAgainAlone(t *testing.T) {
	for what, change := range map[string]func(*rig) []string{
		"the store does not answer": func(r *rig) []string { r.fails = engine.ErrUnavailable; return []string{line} },
		"a panic":                   func(r *rig) []string { r.panics = true; return []string{line} },
		"a foreign message":         func(*rig) []string { return []string{"hello"} },
		"its queue does not answer": func(r *rig) []string {
			r.fails, r.broken = engine.ErrUnavailable, errors.New("down")
			return []string{line}
		},
	} {
		r := newRig(t)
		if again := r.invoke(t.Context(), change(r)...); !slices.Equal(again, []string{"a"}) || !slices.Equal(r.given, []time.Duration{16 * time.Second}) {
			t.Errorf("%s: %v come again, after %v\n%s", what, again, r.given, r.log.String())
		}
	}
	r := newRig(t)
	if again := r.invoke(t.Context(), "hello", line); !slices.Equal(again, []string{"a"}) || len(r.woken) != 1 {
		t.Errorf("%v come again, %d were worked on", again, len(r.woken))
	}
	r.wrote(`"Unreadable":1`)
}

func TestAPanicIsAFailureOfANotice(t *testing.T) {
	r := newRig(t)
	r.panics = true
	r.invoke(t.Context(), line, line)
	r.wrote(`"NoticeFailures":2`)
}
