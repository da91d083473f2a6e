package lambdasweep

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/queue/sqsqueue"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/meter"
)

// latency is what each request takes here.
const latency = 10 * time.Millisecond

// distant answers each request after the latency, on the clock of the bubble.
type distant struct{ aws.HTTPClient }

func (d distant) Do(r *http.Request) (*http.Response, error) {
	time.Sleep(latency)
	return d.HTTPClient.Do(r)
}

// distantParts are the parts of the function on a double whose requests take the latency.
func distantParts(t *testing.T, double *awsdouble.Double, out *bytes.Buffer) stack.Parts {
	t.Helper()
	name := "wake"
	queue, err := double.SQS().CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("table")); err != nil {
		t.Fatal(err)
	}
	config := double.Config()
	config.HTTPClient = distant{config.HTTPClient}
	wake := sqsqueue.NewWake(sqs.NewFromConfig(config), *queue.QueueUrl)
	units := meter.New(dynamodb.NewFromConfig(config, dynamo.Retries()))
	store := dynamo.New(units, dynamo.Options{Table: "table", Clock: machine.Clock{}, Random: machine.Random{}})
	return stack.Parts{Store: store, Wake: wake, Waker: sqsqueue.Apart{Runs: wake, Lines: wake}, Clock: machine.Clock{}, Units: units,
		Metrics: emf.New(out, "test", time.Now), Logger: stack.Settings{}.Logger(out)}
}

// Each run costs an update, and ten cost a batch of messages. One by one, at 10 ms each, a minute
// would do for fewer than 3,000. One head that is throttled for good is due for longest.
func TestASweepWakesFortyThousandRunsAMinute(t *testing.T) {
	const runs, most = 1000, time.Minute * 1000 / 40_000
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		double := awsdouble.New(awsdouble.Options{})
		p := distantParts(t, double, &out)
		near := p
		near.Store = dynamo.New(double.DynamoDB(), dynamo.Options{Table: "table", Clock: machine.Clock{}, Random: machine.Random{}})
		due := time.Now().Add(-90 * time.Second).UnixMilli()
		startDue(t, near, "thr_hot", due-1)
		for i := range runs {
			startDue(t, near, fmt.Sprint("thr_", i), due+int64(i))
		}
		double.Fail(func(c awsdouble.Call) awsdouble.Fault {
			if c.Operation == "UpdateItem" && strings.Contains(c.Key, "thr_hot") {
				return awsdouble.Throttle()
			}
			return awsdouble.Fault{}
		})
		double.ResetCounts()
		began := time.Now()
		if err := newHandler(p).handle(t.Context()); err != nil {
			t.Fatal(err)
		}
		took, requests := time.Since(began), double.Requests()
		t.Logf("%d runs in %s, %.0f a minute: %v", runs, took, runs/took.Minutes(), requests)
		if took > most || requests["SendMessageBatch"] != runs/10 || requests["SendMessage"] != 0 {
			t.Errorf("%d runs took %s, more than %s, or not ten at a time: %v", runs, took, most, requests)
		}
		if !strings.Contains(out.String(), fmt.Sprintf(`"Overdue":%d`, runs)) {
			t.Errorf("not all were woken: %s", out.String())
		}
	})
}
