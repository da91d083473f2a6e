package lambdastep

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsstep"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

type night struct {
	Date string `json:"date"`
}

// harbour notes what its tool and its hook did.
type harbour struct{ booked, ended []string }

func (h *harbour) program() dormouse.Program {
	return dormouse.Program{
		Tools: []dormouse.Tool{dormouse.Func("harbour.book", "", func(_ context.Context, _ dormouse.Call, args night) (any, error) {
			h.booked = append(h.booked, args.Date)
			return "B4", nil
		})},
		Hooks: []dormouse.Hook{{Name: "harbour.log", RunEnd: func(_ context.Context, _ dormouse.Run, end dormouse.Reason) error {
			h.ended = append(h.ended, string(end.Kind))
			return nil
		}}},
	}
}

// stack is a double of the services, with the agents of testdata deployed.
type stack struct {
	double *awsdouble.Double
	env    map[string]string
}

func newStack(t *testing.T, p dormouse.Program) stack {
	t.Helper()
	s := stack{double: awsdouble.New(awsdouble.Options{})}
	server := httptest.NewServer(s.double)
	t.Cleanup(server.Close)
	if _, err := s.double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("table")); err != nil {
		t.Fatal(err)
	}
	name := "wake"
	queue, err := s.double.SQS().CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	s.env = map[string]string{"DORMOUSE_TABLE": "table", "DORMOUSE_WAKE_QUEUE_URL": *queue.QueueUrl, "DORMOUSE_NOTIFY_QUEUE_URL": *queue.QueueUrl, "AWS_REGION": "eu-central-1",
		"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": server.URL}
	tools, hooks := tool.NewRegistry(nil), hook.NewRegistry()
	if err := binding.New(p).Lambda(tools, hooks); err != nil {
		t.Fatal(err)
	}
	store := dynamo.New(s.double.DynamoDB(), dynamo.Options{Table: "table", Clock: machine.Clock{}, Random: machine.Random{}})
	agents := program.NewAgents(store, program.Program{Tools: tools, Hooks: hooks, Dir: "testdata/agents", Clock: machine.Clock{}})
	if _, err := agents.Deploy(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	return s
}

// next hands one wake-up to the function, as the platform does; false if there is none.
func (s stack) next(t *testing.T, h *awsstep.Handler) bool {
	t.Helper()
	url := s.env["DORMOUSE_WAKE_QUEUE_URL"]
	got, err := s.double.SQS().ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Messages) == 0 {
		return false
	}
	m := got.Messages[0]
	answer, err := h.Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle,
		Body: *m.Body, Attributes: m.Attributes}}})
	if err != nil || len(answer.BatchItemFailures) > 0 {
		t.Fatalf("%+v, %v", answer, err)
	}
	if _, err := s.double.SQS().DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil {
		t.Fatal(err)
	}
	return true
}

func TestAToolAndAHookOfTheProgramRunOnTheStack(t *testing.T) {
	var h harbour
	s := newStack(t, h.program())
	log := s.work(t, h.program())
	if strings.Join(h.booked, " ") != "2026-07-01" || strings.Join(h.ended, " ") != "natural_end" {
		t.Errorf("booked %v, ended %v\n%s", h.booked, h.ended, log)
	}
}

func TestTheControlOfTheProgramCancelsARunOnTheStack(t *testing.T) {
	var h harbour
	p := h.program()
	s := newStack(t, p)
	var about dormouse.RunRef
	p.Control.IsCancelled = func(_ context.Context, run dormouse.RunRef) (bool, error) {
		about = run
		return true, nil
	}
	log := s.work(t, p)
	if len(h.booked) > 0 || strings.Join(h.ended, " ") != "cancelled" || about.Agent != "berths" || about.Tenant != "acme" {
		t.Errorf("booked %v, ended %v, asked about %+v\n%s", h.booked, h.ended, about, log)
	}
}

// work starts a run, and lets the function work until nothing is left to do. It returns the log.
func (s stack) work(t *testing.T, p dormouse.Program) string {
	t.Helper()
	settings, err := awsenv.Read(func(name string) string { return s.env[name] })
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	parts, err := open(p, settings, &log)
	if err != nil {
		t.Fatal(err)
	}
	caller := frontend.Caller{Tenant: "acme", By: "test"}
	if _, err := parts.NewFrontend().Start(t.Context(), caller, "", wire.StartRequest{Agent: "berths", Input: json.RawMessage(`"A berth, please"`)}); err != nil {
		t.Fatal(err)
	}
	handler := awsstep.New(parts, func() float64 { return 0 })
	for n := 0; s.next(t, handler); n++ {
		if n > 50 {
			t.Fatalf("50 messages, and no end\n%s", log.String())
		}
	}
	return log.String()
}

func TestAProgramThatIsWrongDoesNotStart(t *testing.T) {
	p := dormouse.Program{Hooks: []dormouse.Hook{{Name: "h"}}}
	settings, err := awsenv.Read(func(name string) string {
		return map[string]string{"DORMOUSE_TABLE": "table", "DORMOUSE_WAKE_QUEUE_URL": "http://127.0.0.1:1/1/wake", "DORMOUSE_NOTIFY_QUEUE_URL": "http://127.0.0.1:1/1/notify", "AWS_REGION": "eu-central-1",
			"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(p, settings, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "no function for any phase") {
		t.Errorf("a hook without a function: %v", err)
	}
}

// TestTheFunctionLinksNeitherALaptopNorTheAPI: what is linked is loaded at every cold start.
func TestTheFunctionLinksNeitherALaptopNorTheAPI(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "lambda.norpc,nethttpomithttp2", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"internal/store/sqlite", "internal/cli", "internal/local", "internal/api/httpapi", "internal/aws/awsapi",
		"spf13/cobra", "modernc.org/sqlite"} {
		if strings.Contains(string(out), not+"\n") {
			t.Errorf("%s is linked", not)
		}
	}
}
