package lambdasweep

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// opened is what the function works with, on a double of the services.
func opened(t *testing.T, out *bytes.Buffer) (stack.Parts, *awsdouble.Double) {
	t.Helper()
	double := awsdouble.New(awsdouble.Options{})
	server := httptest.NewServer(double)
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		if unknown := double.Unknown(); len(unknown) > 0 {
			t.Errorf("the double was asked for what it does not know: %q", unknown)
		}
	})
	name := "wake"
	queue, err := double.SQS().CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("table")); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"DORMOUSE_TABLE": "table", "DORMOUSE_WAKE_QUEUE_URL": *queue.QueueUrl, "DORMOUSE_NOTIFY_QUEUE_URL": *queue.QueueUrl, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k",
		"AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": server.URL}
	s, err := stack.Read(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	return stack.Open(s, out), double
}

func startDue(t *testing.T, p stack.Parts, thread string, due int64) {
	t.Helper()
	head := core.Head{Identity: core.Identity{Tenant: "acme", Thread: thread, Run: core.RunID(thread, 0), Agent: "desk", Version: "v", Schema: core.SchemaVersion},
		Status: core.RunCreated,
		Inbox:  map[string]core.Signal{core.KeyStart: {ID: "n"}}}
	if _, err := p.Store.Start(t.Context(), engine.StartRequest{Head: head, Due: due}); err != nil {
		t.Fatal(err)
	}
}

// One run whose head is throttled for good is due for longest, so that every sweep meets it first.
func TestAThrottledHeadKeepsNoOtherRunAsleep(t *testing.T) {
	var out bytes.Buffer
	p, double := opened(t, &out)
	due := time.Now().Add(-90 * time.Second).UnixMilli()
	var want []string
	for i := range 6 {
		thread := fmt.Sprint("thr_", i)
		startDue(t, p, thread, due+int64(i))
		want = append(want, thread)
	}
	double.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "UpdateItem" && strings.Contains(c.Key, want[0]) {
			return awsdouble.Throttle()
		}
		return awsdouble.Fault{}
	})
	if _, err := lambda.NewHandler(newHandler(p).handle).Invoke(t.Context(), []byte("{}")); err != nil {
		t.Errorf("the sweep failed for one of six: %v", err)
	}
	got, err := p.Wake.Receive(t.Context(), 10)
	var woken []string
	for _, d := range got {
		woken = append(woken, d.Thread)
	}
	slices.Sort(woken)
	if err != nil || !slices.Equal(woken, want[1:]) {
		t.Errorf("woken %v, %v", woken, err)
	}
	if !strings.Contains(out.String(), `"SweepFailures":1`) || !strings.Contains(out.String(), want[0]) {
		t.Errorf("the failure is neither counted nor logged with its thread: %s", out.String())
	}
}

func TestARunWhoseWakeUpWasLostIsWokenOnceAPeriod(t *testing.T) {
	var out bytes.Buffer
	p, _ := opened(t, &out)
	thread := "thr_lost"
	due := time.Now().Add(-90 * time.Second).UnixMilli()
	startDue(t, p, thread, due)
	for _, want := range []int{1, 0} { // the first sweep moves it out of the way of the second
		if _, err := lambda.NewHandler(newHandler(p).handle).Invoke(t.Context(), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		got, err := p.Wake.Receive(t.Context(), 10)
		if err != nil || len(got) != want || want == 1 && got[0].Thread != thread {
			t.Fatalf("woken %+v, %v; want %d\nthe log:\n%s", got, err, want, out.String())
		}
	}
	if !strings.Contains(out.String(), `"OldestDueSeconds":9`) || !strings.Contains(out.String(), `"OldestDueSeconds":0`) {
		t.Errorf("the age is not told: %s", out.String())
	}
}
