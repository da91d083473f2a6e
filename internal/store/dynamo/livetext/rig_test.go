package livetext

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

const pause = 300 * time.Millisecond

// rig is a process that does steps, and one that shows runs, on one table.
type rig struct {
	*testing.T
	double       *awsdouble.Double
	clock        *enginetest.Clock
	step, stream *Text
	head         core.Head
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, double: awsdouble.New(awsdouble.Options{}), clock: enginetest.AtMilli(1_800_000_000_000)}
	if _, err := r.api().CreateTable(t.Context(), dynamo.Schema("table")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if unknown := r.double.Unknown(); len(unknown) > 0 {
			t.Errorf("the double was asked for what it does not know: %q", unknown)
		}
	})
	r.step, r.stream = r.process(), r.process()
	r.head = core.Head{Identity: core.Identity{Tenant: "acme", Thread: "thr_a", Run: "run_a_0"}, Status: core.RunRunning}
	r.head.Lease, r.head.Epoch, r.head.Seq = 1, 3, 4
	r.double.ResetCounts()
	return r
}

func (r *rig) api() *dynamodb.Client {
	return dynamodb.NewFromConfig(r.double.Config(), dynamo.Retries())
}

func (r *rig) process() *Text {
	return New(Options{API: r.api(), Table: "table", Clock: r.clock, Pause: pause})
}

// watch lets the step see that someone watches for so long.
func (r *rig) watch(d time.Duration) { r.step.Seen(r.head, r.clock.Now().Add(d)) }

func attemptOf(epoch int64, restart int) engine.Attempt {
	return engine.Attempt{Tenant: "acme", Thread: "thr_a", Run: "run_a_0", Turn: 1, Step: 2, Epoch: epoch, Restart: restart, Seq: 4, Event: 9}
}

func (r *rig) say(a engine.Attempt, kind string, offset int, text string) {
	r.step.Say(a, engine.Piece{Kind: kind, Offset: offset, Text: text})
}

// heard is what a reader that looks now is shown, after as long as it waits between two reads.
func (r *rig) heard(t *Text) engine.Speech {
	r.Helper()
	r.clock.Advance(pause)
	s, _ := t.Spoken(context.Background(), "acme", "thr_a")
	return s
}

func (r *rig) wantHeard(t *Text, a engine.Attempt, thought, text string) {
	r.Helper()
	if s := r.heard(t); s.Attempt != a || s.Text != text || s.Reasoning != thought {
		r.Errorf("heard %+v %.200q %.200q, want %+v %.200q %.200q", s.Attempt, s.Reasoning, s.Text, a, thought, text)
	}
}

func (r *rig) requests() (n int) {
	for _, of := range r.double.Requests() {
		n += of
	}
	return n
}

// fail lets requests for an operation fail until the fault is taken back.
func (r *rig) fail(operation string, f awsdouble.Fault) (repair func()) {
	r.double.Fail(func(c awsdouble.Call) (none awsdouble.Fault) {
		if c.Operation == operation {
			return f
		}
		return none
	})
	return func() { r.double.Fail(nil) }
}

func words(n int) string { return strings.Repeat("word ", n) }
