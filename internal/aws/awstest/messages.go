package awstest

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/dormouse-dev/dormouse/internal/aws/emf"
)

// Handle is a function that takes messages of a queue.
type Handle func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// Invoke hands a function an event, through the platform's own reading and writing, and returns the
// ids of the messages that come again. The id of the request is req-1.
func Invoke(ctx context.Context, t *testing.T, h Handle, event []byte) (again []string) {
	t.Helper()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: "req-1"})
	text, err := lambda.NewHandler(h).Invoke(ctx, event)
	if err != nil {
		t.Fatal(err)
	}
	var answer events.SQSEventResponse
	if err := json.Unmarshal(text, &answer); err != nil || !strings.Contains(string(text), `"batchItemFailures":[`) {
		t.Fatalf("the platform cannot read the answer %s: %v", text, err)
	}
	for _, f := range answer.BatchItemFailures {
		again = append(again, f.ItemIdentifier)
	}
	return again
}

// Message is an event with one message, m1.
func Message(t *testing.T, arn, text string, receives int) []byte {
	t.Helper()
	raw, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m1", ReceiptHandle: "r1", Body: text, EventSourceARN: arn,
		Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(receives)}}}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// LastMetrics are those of the line that was written last.
func LastMetrics(t *testing.T, out string) map[string]float64 {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var line map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	counts := map[string]float64{}
	for _, n := range emf.Names() {
		if v, ok := line[string(n)].(float64); ok {
			counts[string(n)] = v
		}
	}
	return counts
}
