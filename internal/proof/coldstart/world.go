package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsstep"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// world is a stack on this machine: doubles of the table, the queues and the model, and one agent
// that looks up orders, one a step, as long as its model says so.
type world struct {
	double *awsdouble.Double
	server *httptest.Server
	model  *httptest.Server
	parts  awsenv.Step
	wake   string

	mu     sync.Mutex
	result string         // what a look-up returns
	asked  map[string]int // requests to the model and to others than the table and the queues
	calls  int
}

const desk = `
name: desk
model: {provider: bedrock, model: %s}
instructions: You look up orders.
tools:
  - name: look
    description: Looks up an order.
    http: {url: "%s/orders/{order}", allow_private: true, max_bytes: 1MiB}
    parameters: {type: object, properties: {order: {type: integer}}, required: [order]}
permissions: {allow: [look]}
`

func newWorld(ctx context.Context) (*world, error) {
	w := &world{double: awsdouble.New(awsdouble.Options{}), asked: map[string]int{}, result: "shipped"}
	w.server = httptest.NewServer(w.double)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{order}", w.order)
	mux.Handle("/model/", modeldouble.Bedrock(w.answer))
	w.model = httptest.NewServer(mux)
	if _, err := w.double.DynamoDB().CreateTable(ctx, dynamo.Schema("table")); err != nil {
		return w, err
	}
	name := "wake"
	queue, err := w.double.SQS().CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		return w, err
	}
	w.wake = *queue.QueueUrl
	env := w.environment()
	settings, err := awsenv.Read(func(name string) string { return env[name] })
	if err != nil {
		return w, err
	}
	w.parts, err = awsstep.Open(settings, awsstep.Program{Register: binding.New(dormouse.Program{}).Lambda}, io.Discard)
	if err != nil {
		return w, err
	}
	return w, w.deploy(ctx)
}

func (w *world) close() {
	w.server.Close()
	w.model.Close()
}

// model is that of the agent.
const model = "anthropic.claude-sonnet-4-5-20250929-v1:0"

// environment is that of the functions, with the settings of the Go runtime that the template sets.
func (w *world) environment() map[string]string {
	return map[string]string{"DORMOUSE_TABLE": "table", "DORMOUSE_WAKE_QUEUE_URL": w.wake, "DORMOUSE_NOTIFY_QUEUE_URL": w.wake,
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_LAMBDA_FUNCTION_NAME": "step",
		"AWS_ENDPOINT_URL": w.server.URL, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": w.model.URL,
		"DORMOUSE_PRIVATE_HOSTS": strings.TrimPrefix(w.model.URL, "http://"),
		"BASELINE_MODEL":         model, "BASELINE_REQUESTS": requests, "GOGC": "400", "GOMEMLIMIT": "400MiB"}
}

func (w *world) deploy(ctx context.Context) error {
	def, err := agentfile.Parse("desk.yaml", fmt.Appendf(nil, desk, model, w.model.URL), nil)
	if err != nil {
		return err
	}
	store := w.parts.Store
	if err := store.PutDefinition(ctx, engine.Definition{Tenant: "acme", Name: def.Name, Digest: def.Digest(), Body: def.Encode()}); err != nil {
		return err
	}
	return store.Deploy(ctx, "acme", def.Name, def.Digest())
}

// say sets what look-ups return from now on.
func (w *world) say(result string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result = result
}

func (w *world) order(rw http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked["look"]++
	_, _ = io.WriteString(rw, w.result)
}

// answer looks up another order.
func (w *world) answer(modeldouble.Asked) modeldouble.Said {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked["ConverseStream"]++
	w.calls++
	return modeldouble.Said{Turn: core.Turn{Calls: []core.ToolCall{{ID: fmt.Sprintf("call_%d", w.calls), Name: "look",
		Arguments: json.RawMessage(fmt.Sprintf(`{"order":%d}`, w.calls))}}}}
}

// start begins a run and returns the event of its first wake-up.
func (w *world) start(ctx context.Context) (event []byte, err error) {
	_, err = w.parts.NewFrontend().Start(ctx, frontend.Caller{Tenant: "acme", By: "test"}, "", wire.StartRequest{Agent: "desk", Input: core.Encode("Look them up.")})
	if err != nil {
		return nil, err
	}
	return w.next(ctx)
}

// next takes the next wake-up from the queue.
func (w *world) next(ctx context.Context) ([]byte, error) {
	api := w.double.SQS()
	got, err := api.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &w.wake, WaitTimeSeconds: 0})
	if err != nil {
		return nil, err
	}
	if len(got.Messages) == 0 {
		return nil, fmt.Errorf("there is no wake-up")
	}
	m := got.Messages[0]
	if _, err := api.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &w.wake, ReceiptHandle: m.ReceiptHandle}); err != nil {
		return nil, err
	}
	return core.EncodeAny(events.SQSEvent{Records: []events.SQSMessage{{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body,
		EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:eu-central-1:123456789012:wake", Attributes: map[string]string{"ApproximateReceiveCount": "1"}}}})
}

// drain takes all wake-ups from the queue.
func (w *world) drain(ctx context.Context) {
	for {
		if _, err := w.next(ctx); err != nil {
			return
		}
	}
}

// requests are those made since the last call, by operation.
func (w *world) requests() string {
	made := w.double.Requests()
	w.double.ResetCounts()
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.Copy(made, w.asked)
	clear(w.asked)
	var names []string
	for name, n := range made {
		names = append(names, slices.Repeat([]string{name}, n)...)
	}
	return counted(strings.Join(names, " "))
}

// counted is a list of operations in a form that can be compared.
func counted(names string) string {
	n := map[string]int{}
	for _, name := range strings.Fields(names) {
		n[name]++
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%d %s", n[name], name))
	}
	return strings.Join(parts, ", ")
}
