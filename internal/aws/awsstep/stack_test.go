package awsstep

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsintake"
	"github.com/dormouse-dev/dormouse/internal/aws/awstest"
	"github.com/dormouse-dev/dormouse/internal/aws/xray"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// deployed is the function as its environment wires it, on a double of the services, with the
// example's agent deployed.
type deployed struct {
	*testing.T
	double  *awsdouble.Double
	parts   awsenv.Step
	set     awsenv.Settings
	handler lambda.Handler
	intake  lambda.Handler // of the function that takes the intake queue
	starter *frontend.Frontend
	out     bytes.Buffer
	queues  map[string]string // URL by name
	caller  frontend.Caller
	pumped  int           // messages handed to the function
	time    time.Duration // that an invocation has
	// of the requests of the function, and of no others
	fault  func(awsdouble.Call) awsdouble.Fault
	daemon net.PacketConn // of traces
	// of the services' clock, which is the machine's otherwise
	ahead time.Duration
	clock *enginetest.Clock // of the function, if it stands still
}

func newDeployed(t *testing.T) *deployed { return newDeployedWith(t, nil) }

// newDeployedWith has more in its environment.
func newDeployedWith(t *testing.T, more map[string]string) *deployed {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir()) // where the example writes down what it paid
	d := &deployed{T: t, queues: map[string]string{}, time: 2 * time.Minute, caller: frontend.Caller{Tenant: "acme", By: "test"}}
	d.double = awsdouble.New(awsdouble.Options{Clock: func() time.Time { return time.Now().Add(d.ahead) }})
	server := httptest.NewServer(d.double)
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		if unknown := d.double.Unknown(); len(unknown) > 0 {
			t.Errorf("the double was asked for what it does not know: %q", unknown)
		}
	})
	d.provision()
	var err error
	d.daemon, err = net.ListenPacket("udp", "127.0.0.1:0")
	d.must(err)
	t.Cleanup(func() { d.daemon.Close() })
	d.set, err = awsenv.Read(func(name string) string { return cmp.Or(more[name], d.environment(server.URL)(name)) })
	d.must(err)
	d.parts, err = Open(d.set, Program{Name: "desk", Register: binding.New(refunddesk.Program()).Lambda}, &d.out)
	d.must(err)
	starts, err := awsenv.NewIntake(d.set, binding.New(refunddesk.Program()).Lambda, &d.out)
	d.must(err)
	d.starter = starts.Frontend
	d.handler = lambda.NewHandler(New(d.parts, func() float64 { return 0 }).Handle)
	d.intake = lambda.NewHandler(awsintake.New(starts, func() float64 { return 0 }).Handle)
	d.deploy()
	return d
}

// stand gives the function and its callers a clock that stands still, always at the same time, and
// always the same ids: what is done for the passing of time (look for a cancel now and then, move a
// due time on) does not depend on how long the machine takes for it, and what is stored has the
// same size each time, since it is compressed.
func (d *deployed) stand() {
	d.Helper()
	// in 2061: an invocation that begins then is in time
	d.clock = enginetest.AtMilli(2_900_000_000_000)
	d.parts.Clock, d.parts.Random = d.clock, known{Random: enginetest.NewRandom(d.T, 1)}
	d.starter = frontend.New(frontend.Options{Store: d.parts.Store, Links: d.parts.Store, Catalog: d.parts.Store, Waker: d.parts.Wake, Clock: d.clock,
		Random: d.parts.Random, Describe: d.parts.Agents.Describe, Check: d.parts.Agents.Check, Starters: d.parts.Agents.Starters, Narrow: d.parts.Agents.Narrow})
	d.handler = lambda.NewHandler(New(d.parts, func() float64 { return 0 }).Handle)
	d.time = time.Hour
}

// known gives the same ids each time.
type known struct{ *enginetest.Random }

func (known) Bytes(b []byte) { machine.Random{}.Bytes(b) }

// deadline is that of an invocation that begins now.
func (d *deployed) deadline() time.Time {
	if d.clock != nil {
		return d.clock.Now().Add(d.time)
	}
	return time.Now().Add(d.time)
}

func (d *deployed) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatalf("%v\nthe log:\n%s", err, d.out.String())
	}
}

func (d *deployed) provision() {
	d.Helper()
	_, err := d.double.DynamoDB().CreateTable(d.Context(), dynamo.Schema("table"))
	d.must(err)
	for _, name := range []string{"wake", "intake", "dead", "notify"} {
		out, err := d.double.SQS().CreateQueue(d.Context(), &sqs.CreateQueueInput{QueueName: &name})
		d.must(err)
		d.queues[name] = *out.QueueUrl
	}
}

func (d *deployed) environment(endpoint string) func(string) string {
	all := map[string]string{"DORMOUSE_TABLE": "table", "DORMOUSE_WAKE_QUEUE_URL": d.queues["wake"], "DORMOUSE_NOTIFY_QUEUE_URL": d.queues["notify"], "DORMOUSE_INTAKE_QUEUE_URL": d.queues["intake"],
		"DORMOUSE_INTAKE_DEAD_QUEUE_URL": d.queues["dead"], "DORMOUSE_INTAKE_QUEUE_ARN": intakeARN, "DORMOUSE_INTAKE_TENANT": "acme",
		"DORMOUSE_INTAKE_AGENT": "refund-desk", "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": endpoint,
		"AWS_XRAY_DAEMON_ADDRESS": d.daemon.LocalAddr().String(),
		"DORMOUSE_POLICY":         "deny:\n  - {tool: issue_refund, when: {argument: amount, above: 1000}, reason: too much}\n"}
	return func(name string) string { return all[name] }
}

func (d *deployed) deploy() {
	d.Helper()
	dir := filepath.Join("..", "..", "..", "examples", "refund-desk")
	text, err := os.ReadFile(filepath.Join(dir, "refund-desk.yaml"))
	d.must(err)
	def, err := agentfile.Parse("refund-desk.yaml", text, func(rel string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, rel)) })
	d.must(err)
	d.must(d.parts.Store.PutDefinition(d.Context(), engine.Definition{Tenant: "acme", Name: def.Name, Digest: def.Digest(), Body: def.Encode()}))
	d.must(d.parts.Store.Deploy(d.Context(), "acme", def.Name, def.Digest()))
}

func (d *deployed) put(queue, body string) {
	d.Helper()
	url := d.queues[queue]
	_, err := d.double.SQS().SendMessage(d.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body})
	d.must(err)
}

// pump hands what is visible to the function, as the platform does, until nothing is.
func (d *deployed) pump() {
	d.Helper()
	for found := true; found; {
		found = d.hand("wake", wakeARN) || d.hand("intake", intakeARN)
	}
}

// hand hands one message to the function, and removes it unless the function says that it is to
// come again.
func (d *deployed) hand(queue, arn string) bool {
	d.Helper()
	url, api := d.queues[queue], d.double.SQS()
	got, err := api.ReceiveMessage(d.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}})
	d.must(err)
	if len(got.Messages) == 0 {
		return false
	}
	if d.pumped++; d.pumped > 500 {
		d.Fatalf("500 messages, and no end\nthe log:\n%s", d.out.String())
	}
	m := got.Messages[0]
	e, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body,
		Attributes: m.Attributes, EventSourceARN: arn}}})
	d.must(err)
	ctx, cancel := context.WithDeadline(d.Context(), d.deadline())
	defer cancel()
	d.double.Fail(d.fault)
	function := d.handler
	if arn == intakeARN {
		function = d.intake
	}
	answer, err := function.Invoke(ctx, e)
	d.double.Fail(nil)
	d.must(err)
	if string(answer) == `{"batchItemFailures":[]}` {
		_, err = api.DeleteMessage(d.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
		d.must(err)
	}
	return true
}

func (d *deployed) runs() []wire.Run {
	d.Helper()
	page, err := query.New(d.starter).Runs(d.Context(), d.caller, query.List{})
	d.must(err)
	return page.Items
}

// one is the only run there is.
func (d *deployed) one(status string) wire.Run {
	d.Helper()
	runs := d.runs()
	if len(runs) != 1 || runs[0].Status != status {
		d.Fatalf("runs %+v, want one that is %s\nthe log:\n%s", runs, status, d.out.String())
	}
	return runs[0]
}

const intakeARN = "arn:aws:sqs:eu-central-1:123456789012:dormouse-IntakeQueue"

const refund = `{"idempotency_key":"ticket-4711","agent":"refund-desk","input":"refund A-17"}`

// A run from a message of the intake queue to its end, each message handed over twice, through a
// wait for a person.
func TestARunOnTheStack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(awsdouble.Call) awsdouble.Fault
	}{
		{"nothing goes wrong", nil},
		{"every message is doubled", func(c awsdouble.Call) awsdouble.Fault {
			if c.Operation == "SendMessage" {
				return awsdouble.DoubleMessage()
			}
			return awsdouble.Fault{}
		}},
		{"one request in twelve loses its reply", awsdouble.Chaos(1, 1.0/12, awsdouble.LoseReply())},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDeployed(t)
			d.fault = tt.fault
			d.put("intake", refund)
			d.put("intake", refund)
			d.pump()
			waiting := d.one("waiting")
			if len(waiting.Pending) != 1 {
				t.Fatalf("the run waits for %+v\nthe log:\n%s", waiting.Pending, d.out.String())
			}
			if want := "desk decide " + waiting.ID + " " + waiting.Pending[0].Suspension.ID; !strings.Contains(d.out.String(), want) {
				t.Errorf("the log does not say %q", want)
			}
			_, err := d.starter.Decide(t.Context(), d.caller, waiting.ID, wire.Decision{Target: waiting.Pending[0].Suspension.ID, DecisionID: "d1", Action: "resume"})
			d.must(err)
			d.pump()
			d.one("done")
			ledger, err := os.ReadFile(filepath.Join(os.TempDir(), "refunds.jsonl"))
			if err != nil || strings.Count(string(ledger), "\n") != 1 {
				t.Errorf("the ledger holds %q, %v", ledger, err)
			}
			if strings.Contains(d.out.String(), "refund A-17") {
				t.Error("what the model was asked is in the log")
			}
		})
	}
}

func TestWhatTheIntakeQueueCannotStartIsPutAside(t *testing.T) {
	d := newDeployed(t)
	d.put("intake", `{"idempotency_key":"k","agent":"nobody","input":"x"}`)
	d.pump()
	url := d.queues["dead"]
	out, err := d.double.SQS().ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MessageAttributeNames: []string{"All"}})
	d.must(err)
	if len(out.Messages) != 1 || *out.Messages[0].MessageAttributes["code"].StringValue != "agent_not_found" || len(d.runs()) != 0 {
		t.Errorf("dead letters %+v", out.Messages)
	}
}

func TestAnEventOfAPipelineRunsToItsEnd(t *testing.T) {
	d := newDeployed(t)
	const event = `{"version":"0","id":"6a7e8feb-b491-4cf7-a9f1-bf3703467718","detail-type":"Order Complaint","source":"shop.orders","detail":{"order":"B-02"}}`
	d.put("intake", event)
	d.put("intake", event)
	d.pump()
	run := d.one("done")
	if string(run.Metadata) != `{"detail-type":"Order Complaint","source":"shop.orders"}` {
		t.Errorf("metadata %s", run.Metadata)
	}
}

// A step that has no time left claims nothing, and its message comes again.
func TestAnInvocationWithoutTimeClaimsNothing(t *testing.T) {
	d := newDeployed(t)
	_, err := d.starter.Start(t.Context(), d.caller, "k", wire.StartRequest{Agent: "refund-desk", Input: core.Encode("refund A-17")})
	d.must(err)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	thread := d.runs()[0].ThreadID
	answer, err := d.handler.Invoke(ctx, awstest.Message(d.T, wakeARN, `{"tenant":"acme","thread":"`+thread+`"}`, 1))
	d.must(err)
	head, err := d.parts.Store.Load(t.Context(), "acme", thread)
	if err != nil || head.Epoch != 0 || !strings.Contains(string(answer), "m1") {
		t.Errorf("the head is at epoch %d, %v; the answer %s", head.Epoch, err, answer)
	}
}

func TestATracedInvocationTellsWhatItDid(t *testing.T) {
	d := newDeployed(t)
	//lint:ignore SA1029 the key is a string because the Lambda runtime's is one
	ctx := context.WithValue(t.Context(), any(xray.ContextKey), "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")
	_, err := d.handler.Invoke(ctx, awstest.Message(d.T, wakeARN, `{"tenant":"acme","thread":"thr_none"}`, 1))
	d.must(err)
	d.must(d.daemon.SetReadDeadline(time.Now().Add(10 * time.Second)))
	datagram := make([]byte, 64<<10)
	n, _, err := d.daemon.ReadFrom(datagram)
	d.must(err)
	if !strings.Contains(string(datagram[:n]), `"name":"claim"`) {
		t.Errorf("the daemon was told %s", datagram[:n])
	}
}

// A table that answers nothing for a while costs a message of the intake queue nothing: it is
// hidden, and starts its run afterwards.
func TestAMessageWaitsWhileTheTableIsThrottled(t *testing.T) {
	d := newDeployed(t)
	d.double.ThrottleFor("table", time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	d.time = 4 * time.Second
	d.put("intake", refund)
	d.hand("intake", intakeARN)
	d.double.ThrottleFor("table", time.Time{}, time.Time{})
	if runs := d.runs(); len(runs) != 0 {
		t.Fatalf("runs %+v", runs)
	}
	d.ahead, d.time = time.Minute, 2*time.Minute
	d.pump()
	d.one("waiting")
}

// An intake message whose fate could not be carried out is given back to its own queue, and comes
// again within seconds: its receipt means nothing to the other one, and the queue hides a message
// for as long as several steps.
func TestAnIntakeMessageThatCouldNotBeMovedComesAgainSoon(t *testing.T) {
	d := newDeployed(t)
	url := d.queues["intake"]
	_, err := d.double.SQS().SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": "1800"}})
	d.must(err)
	d.fault = func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "SendMessage" {
			return awsdouble.InternalError()
		}
		return awsdouble.Fault{}
	}
	d.put("intake", `{"idempotency_key":"k","agent":"nobody","input":"x"}`)
	d.hand("intake", intakeARN)
	d.ahead = time.Minute
	got, err := d.double.SQS().ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url})
	d.must(err)
	if len(got.Messages) != 1 {
		t.Errorf("a minute later the message is still hidden\nthe log:\n%s", d.out.String())
	}
}

// What a step consumes of the table is told by the server and written as metrics; what it was asked
// to do is in no line.
func TestUnitsAreMetricsAndArgumentsAreNowhere(t *testing.T) {
	d := newDeployed(t)
	d.start()
	d.finish()
	var write float64
	for line := range strings.Lines(d.out.String()) {
		var metrics struct {
			WriteUnits, ReadUnits float64
		}
		if json.Unmarshal([]byte(line), &metrics) == nil {
			write += metrics.WriteUnits
		}
	}
	if units := d.double.Units(); write == 0 || write > units.Write+units.IndexWrite {
		t.Errorf("%v write units are told, of %+v", write, units)
	}
	for _, said := range []string{"refund A-17", `"amount"`, `\"amount\"`, `"order"`, `\"order\"`, "A-17"} {
		if strings.Contains(d.out.String(), said) {
			t.Errorf("%s is in the log:\n%s", said, d.out.String())
		}
	}
}
