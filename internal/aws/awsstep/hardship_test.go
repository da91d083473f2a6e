package awsstep

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// later is a clock that is ahead of the machine's.
type later struct {
	machine.Clock
	by time.Duration
}

func (c later) Now() time.Time { return c.Clock.Now().Add(c.by) }

// sweep is a sweep that much later.
func (d *deployed) sweep(by time.Duration) {
	d.Helper()
	d.must(sweeper.Sweep(d.Context(), d.parts.Store, d.parts.Wake, later{by: by}, time.Minute))
}

// start starts the run of the example whose refund needs a person, and returns its thread.
func (d *deployed) start() (thread string) {
	d.Helper()
	started, err := d.starter.Start(d.Context(), d.caller, "k", wire.StartRequest{Agent: "refund-desk", Input: core.Encode("refund A-17")})
	d.must(err)
	return started.Run.ThreadID
}

// finish approves what the only run waits for, and sees that it is paid once.
func (d *deployed) finish() {
	d.Helper()
	d.pump()
	d.decide(d.one("waiting"), wire.Decision{DecisionID: "d1", Action: "resume"})
	d.pump()
	d.one("done")
	d.paidOnce()
}

// decide answers the one call that a run waits for.
func (d *deployed) decide(run wire.Run, decision wire.Decision) {
	d.Helper()
	decision.Target = run.Pending[0].Suspension.ID
	_, err := d.starter.Decide(d.Context(), d.caller, run.ID, decision)
	d.must(err)
}

func (d *deployed) paidOnce() {
	d.Helper()
	ledger, err := os.ReadFile(filepath.Join(os.TempDir(), "refunds.jsonl"))
	if err != nil || strings.Count(string(ledger), "\n") != 1 {
		d.Errorf("the ledger holds %q, %v", ledger, err)
	}
}

// withRedrive gives the queue of wake-ups dead letters, and shows what is given back at once.
func (d *deployed) withRedrive() {
	d.Helper()
	wake, dead := d.queues["wake"], d.queues["dead"]
	got, err := d.double.SQS().GetQueueAttributes(d.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &dead, AttributeNames: []types.QueueAttributeName{"QueueArn"}})
	d.must(err)
	_, err = d.double.SQS().SetQueueAttributes(d.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &wake, Attributes: map[string]string{
		"RedrivePolicy": `{"deadLetterTargetArn":"` + got.Attributes["QueueArn"] + `","maxReceiveCount":"5"}`}})
	d.must(err)
}

// breakTable gives every request of the function to its table this fault.
func (d *deployed) breakTable(f awsdouble.Fault) {
	d.fault = func(c awsdouble.Call) awsdouble.Fault {
		if c.Service == "dynamodb" {
			return f
		}
		return awsdouble.Fault{}
	}
}

// exhaust hands the wake-up over until the queue has given it up, and says how often that was. Time
// passes in between as the function asked.
func (d *deployed) exhaust() (hands int) {
	d.Helper()
	for range 20 {
		if d.hand("wake", wakeARN) {
			hands++
		}
		d.ahead += 10 * time.Minute
		if d.deadLetters() > 0 {
			return hands
		}
	}
	d.Fatalf("the wake-up is no dead letter after %d tries\nthe log:\n%s", hands, d.out.String())
	return 0
}

func (d *deployed) deadLetters() int {
	d.Helper()
	url := d.queues["dead"]
	got, err := d.double.SQS().GetQueueAttributes(d.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}})
	d.must(err)
	return len(strings.Trim(got.Attributes["ApproximateNumberOfMessages"], "0"))
}

// The table refuses everything for so long that the wake-up becomes a dead letter, which is an
// alarm. Nothing is half done, and the sweep brings the run back.
func TestATableThatIsThrottledForLongCostsAWakeUpAndNoRun(t *testing.T) {
	d := newDeployed(t)
	d.withRedrive()
	d.start()
	d.breakTable(awsdouble.Throttle())
	d.time = 25 * time.Second
	if hands := d.exhaust(); hands != 5 {
		t.Errorf("it was handed over %d times", hands)
	}
	d.fault, d.time = nil, 2*time.Minute
	d.one("created")
	d.sweep(time.Minute)
	d.finish()
}

// A run that a newer program has written is not touched, and its wake-up is not swallowed: while
// both versions are deployed, the newer one may get it.
func TestARunOfANewerSchemaIsLeftAloneUntilSomebodyCanReadIt(t *testing.T) {
	d := newDeployed(t)
	d.withRedrive()
	thread := d.start()
	d.schema(thread, "99")
	before := d.item(thread)
	d.exhaust()
	if after := d.item(thread); len(after) != len(before) || after["epoch"] != nil && after["epoch"].(*dynamotypes.AttributeValueMemberN).Value != "0" {
		t.Errorf("the item was changed: %v", after)
	}
	d.schema(thread, strconv.Itoa(core.SchemaVersion))
	d.sweep(time.Minute)
	d.finish()
}

func (d *deployed) key(thread string) map[string]dynamotypes.AttributeValue {
	return map[string]dynamotypes.AttributeValue{"pk": &dynamotypes.AttributeValueMemberS{Value: "T#acme#" + thread}, "sk": &dynamotypes.AttributeValueMemberS{Value: "#H"}}
}

func (d *deployed) schema(thread, version string) {
	d.Helper()
	table, set := "table", "SET #v = :v"
	_, err := d.double.DynamoDB().UpdateItem(d.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: d.key(thread), UpdateExpression: &set,
		ExpressionAttributeNames: map[string]string{"#v": "v"}, ExpressionAttributeValues: map[string]dynamotypes.AttributeValue{":v": &dynamotypes.AttributeValueMemberN{Value: version}}})
	d.must(err)
}

func (d *deployed) item(thread string) map[string]dynamotypes.AttributeValue {
	d.Helper()
	table := "table"
	got, err := d.double.DynamoDB().GetItem(d.Context(), &dynamodb.GetItemInput{TableName: &table, Key: d.key(thread)})
	d.must(err)
	return got.Item
}

// Every wake-up is doubled, and every request may lose its answer; the sweep wakes the run once
// more at every turn.
func TestDoubledMessagesLostAnswersAndASweepTooManyPayOnce(t *testing.T) {
	d := newDeployed(t)
	lost := awsdouble.Chaos(7, 1.0/10, awsdouble.LoseReply())
	d.fault = func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "SendMessage" {
			return awsdouble.DoubleMessage()
		}
		return lost(c)
	}
	d.start()
	d.sweep(time.Hour)
	d.finish()
	d.sweep(2 * time.Hour)
	d.pump()
	d.one("done")
}

// A worker whose clock is an hour ahead takes the run over while the payment is being made by
// another: the owner, whose epoch is old, can commit nothing, and what became of the payment is
// asked. It is not made again.
//
//	function:            claim 4 ── intent ── pays ──────────────────── commit: refused
//	clock an hour ahead:                            claim 5 ── asks what happened
func TestAClockAnHourAheadAsksAPersonAndPaysOnce(t *testing.T) {
	d := newDeployed(t)
	thread := d.start()
	d.pump()
	waiting := d.one("waiting")
	ahead := engine.New(engine.Options{Store: d.parts.Store, Waker: d.parts.Wake, Agents: d.parts.Agents, Clock: later{by: time.Hour}, Random: d.parts.Random})
	took := 0
	d.fault = func(awsdouble.Call) awsdouble.Fault {
		if paid, _ := os.ReadFile(filepath.Join(os.TempDir(), "refunds.jsonl")); len(paid) > 0 && took == 0 {
			took++
			report, err := ahead.Step(d.Context(), engine.Wakeup{Tenant: "acme", Thread: thread})
			if err != nil || !report.TookOver {
				t.Errorf("the other worker: %+v, %v", report, err)
			}
		}
		return awsdouble.Fault{}
	}
	d.decide(waiting, wire.Decision{DecisionID: "d1", Action: "resume"})
	d.pump()
	asked := d.one("waiting")
	if took != 1 || len(asked.Pending) != 1 || asked.Pending[0].Kind != "unknown_outcome" {
		t.Fatalf("taken over %d times; the run waits for %+v", took, asked.Pending)
	}
	d.decide(asked, wire.Decision{DecisionID: "d2", Result: core.Encode("paid")})
	d.pump()
	d.one("done")
	d.paidOnce()
}

// While the function's right to the table is revoked, or the table is not there, nothing is lost:
// wake-ups come again, the log has an error, and once it is as it was the run goes on.
func TestARevokedRightKeepsRunsWaiting(t *testing.T) {
	d := newDeployed(t)
	d.withRedrive()
	d.start()
	d.breakTable(awsdouble.Deny())
	if hands := d.exhaust(); hands != 5 {
		t.Errorf("it was handed over %d times", hands)
	}
	if log := d.out.String(); !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "check the policy") {
		t.Errorf("the log does not say it: %s", log)
	}
	d.fault = nil
	d.one("created")
	d.sweep(time.Minute)
	d.finish()
}

// One partition that is throttled keeps its own run waiting, and no other.
func TestAThrottledPartitionKeepsItsRunAlone(t *testing.T) {
	d := newDeployed(t)
	slow := d.start()
	started, err := d.starter.Start(d.Context(), d.caller, "other", wire.StartRequest{Agent: "refund-desk", Input: core.Encode("refund A-18")})
	d.must(err)
	d.fault = func(c awsdouble.Call) awsdouble.Fault {
		if c.Service == "dynamodb" && strings.Contains(c.Key, slow) {
			return awsdouble.Throttle()
		}
		return awsdouble.Fault{}
	}
	d.time = 25 * time.Second
	d.pump()
	other, err := d.starter.Run(d.Context(), d.caller, started.Run.ID)
	d.must(err)
	if other.Status != "done" { // it finds no order A-18
		t.Errorf("the other run: %+v", other)
	}
	d.fault, d.time = nil, 2*time.Minute
	d.sweep(time.Hour)
	d.pump()
	run, err := d.starter.Run(d.Context(), d.caller, core.RunID(slow, 0))
	d.must(err)
	if run.Status != "waiting" {
		t.Errorf("the run of the partition, once it is not throttled: %+v", run)
	}
}

// Functions whose clocks differ by minutes take turns at one run. It is paid once, and nothing is
// asked that did not happen.
func TestFunctionsWhoseClocksDifferByMinutesPayOnce(t *testing.T) {
	for _, clocks := range [][]time.Duration{{5 * time.Minute, -5 * time.Minute}, {-5 * time.Minute, 5 * time.Minute}, {-3 * time.Minute, 0}, {0, 10 * time.Minute}} {
		d := newDeployed(t)
		thread := d.start()
		step := func() {
			for i := range 6 {
				by := clocks[i%len(clocks)]
				e := engine.New(engine.Options{Store: d.parts.Store, Waker: d.parts.Wake, Agents: d.parts.Agents, Clock: later{by: by}, Random: d.parts.Random})
				if _, err := e.Step(d.Context(), engine.Wakeup{Tenant: "acme", Thread: thread}); err != nil {
					t.Errorf("clocks %v: %v", clocks, err)
				}
			}
		}
		step()
		waiting := d.one("waiting")
		if waiting.Pending[0].Kind != "approval" {
			t.Fatalf("clocks %v: it waits for %+v", clocks, waiting.Pending)
		}
		d.decide(waiting, wire.Decision{DecisionID: "d1", Action: "resume"})
		step()
		d.one("done")
		d.paidOnce()
	}
}
