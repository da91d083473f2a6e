package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/platform"
)

const intakeRuns = 30

// intakeQueue: messages start runs, once per key however often they come; what can never be one is
// put aside with the reason.
func intakeQueue(ctx context.Context, t *Target, b *book) {
	if t.Queues[platform.IntakeQueue] == "" || t.Queues[platform.IntakeDeadQueue] == "" {
		b.say("not run: the URLs of the intake queue and its dead-letter queue are not known; give them with --intake and --intake-dead")
		return
	}
	if !b.check("the agent of the intake queue is deployed", t.deploy(ctx, t.own("intake"))) {
		return
	}
	i := &intake{t: t, mark: fmt.Sprintf("intake-%d", t.Seed)}
	if !b.check(fmt.Sprintf("%d messages of our own and two events are sent, each twice", intakeRuns), i.send(ctx)) ||
		!b.check("four messages that are none are sent", i.sendGarbage(ctx)) {
		return
	}
	b.check("the queue becomes empty", until(ctx, patience, func() error { return i.empty(ctx, platform.IntakeQueue) }))
	b.check("each key is one run, and all come to their end", until(ctx, patience, func() error { return i.runs(ctx) }))
	b.check("what can never be a run is in the dead letters", until(ctx, patience, func() error { return i.dead(ctx) }))
	if t.Platform != nil {
		b.check("no wake-up is a dead letter", i.empty(ctx, platform.WakeDeadQueue))
	}
}

type intake struct {
	t     *Target
	mark  string
	found map[string]string // dead letters, by their body
}

func (i *intake) put(ctx context.Context, body string) error {
	url := i.t.Queues[platform.IntakeQueue]
	_, err := i.t.SQS.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body})
	return err
}

func encoded(v any) string {
	raw, _ := json.Marshal(v) // texts and numbers have a JSON form
	return string(raw)
}

func (i *intake) send(ctx context.Context) error {
	bodies := []string{i.event("event"), i.object("object")}
	for n := range intakeRuns {
		key := i.mark + "-" + strconv.Itoa(n)
		bodies = append(bodies, encoded(map[string]any{"idempotency_key": key, "agent": EventAgent, "input": "complaint " + strconv.Itoa(n),
			"metadata": map[string]string{"key": key}}))
	}
	var err error
	for _, body := range append(bodies, bodies...) {
		err = errors.Join(err, i.put(ctx, body))
	}
	return err
}

// event is one that EventBridge would put into the queue.
func (i *intake) event(what string) string {
	return encoded(map[string]any{"version": "0", "id": i.mark + "-" + what, "detail-type": "Order Complaint", "source": i.mark, "account": "123456789012",
		"time": "2026-11-20T08:30:12Z", "region": "us-east-1", "resources": []string{}, "detail": map[string]any{"order": "B-02", "amount": 40}})
}

// object is a notification that S3 would put there.
func (i *intake) object(what string) string {
	return encoded(map[string]any{"Records": []any{map[string]any{"eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectCreated:Put",
		"s3": map[string]any{"bucket": map[string]any{"name": i.mark}, "object": map[string]any{"key": what + ".json", "sequencer": "0055AED6DCD90281E5"}}}}})
}

// garbage are messages that can never be a run, each in its own way.
func (i *intake) garbage() []string {
	return []string{
		i.mark + " is not JSON",
		encoded(map[string]any{"idempotency_key": i.mark + "-nobody", "agent": "nobody-has-this", "input": "x"}),
		encoded(map[string]any{"agent": EventAgent, "input": i.mark + " has no key"}),
		encoded(map[string]any{"idempotency_key": i.mark + "-0", "agent": EventAgent, "input": "another wish under a key that was used"}),
	}
}

func (i *intake) sendGarbage(ctx context.Context) error {
	// The last of them is garbage only once the first of ours has started.
	err := until(ctx, patience, func() error {
		counts, err := i.started(ctx)
		if err == nil && counts[i.mark+"-0"] == 0 {
			err = errors.New("the first message has not started a run")
		}
		return err
	})
	for _, body := range i.garbage() {
		err = errors.Join(err, i.put(ctx, body))
	}
	return err
}

func (i *intake) empty(ctx context.Context, queue string) error {
	url := i.t.Queues[queue]
	out, err := i.t.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		return err
	}
	for _, name := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"} {
		if n := out.Attributes[name]; n != "0" && n != "" {
			return fmt.Errorf("%s of %s is %s", name, queue, n)
		}
	}
	return nil
}

// started counts runs by their key, or by what an event names them.
func (i *intake) started(ctx context.Context) (map[string]int, error) {
	counts := map[string]int{}
	api := i.t.client(i.t.Token)
	for cursor := ""; ; {
		page, err := api.RunPage(ctx, client.RunFilter{Agent: EventAgent, Limit: 100, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, run := range page.Items {
			if name := i.name(run); name != "" {
				counts[name]++
				if run.Status != "done" {
					counts["open"]++
				}
			}
		}
		if cursor = page.Next; cursor == "" {
			return counts, nil
		}
	}
}

func (i *intake) name(run wire.Run) string {
	var metadata struct{ Key, Source, Bucket string }
	_ = json.Unmarshal(run.Metadata, &metadata) // somebody else's run may have anything there
	for _, name := range []string{metadata.Bucket, metadata.Source, metadata.Key} {
		if strings.HasPrefix(name, i.mark) {
			if metadata.Bucket != "" {
				return name + "-object"
			}
			return name
		}
	}
	return ""
}

func (i *intake) runs(ctx context.Context) error {
	counts, err := i.started(ctx)
	if err != nil {
		return err
	}
	open := counts["open"]
	delete(counts, "open")
	for name, n := range counts {
		if n != 1 {
			err = errors.Join(err, fmt.Errorf("%s started %d runs", name, n))
		}
	}
	if want := intakeRuns + 2; len(counts) != want || open > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d runs, %d of them not done", len(counts), want, open))
	}
	return err
}

// dead takes what is in the dead letters. It stays there: whoever reads them hides them for a while
// only.
func (i *intake) dead(ctx context.Context) error {
	if i.found == nil {
		i.found = map[string]string{}
	}
	url := i.t.Queues[platform.IntakeDeadQueue]
	out, err := i.t.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"}})
	if err != nil {
		return err
	}
	for _, m := range out.Messages {
		reason := ""
		for name, a := range m.MessageAttributes {
			if a.StringValue != nil {
				reason += name + "=" + *a.StringValue + " "
			}
		}
		i.found[*m.Body] = reason
	}
	for _, body := range i.garbage() {
		reason, there := i.found[body]
		switch {
		case !there:
			err = errors.Join(err, fmt.Errorf("not there: %s", body))
		case reason == "":
			err = errors.Join(err, fmt.Errorf("there without a reason: %s", body))
		}
	}
	return err
}
