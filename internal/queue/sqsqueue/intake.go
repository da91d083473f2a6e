package sqsqueue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/internal/queue/intake"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

var _ intake.Queue = (*Intake)(nil)

// Attributes of messages of the intake queue. Pipelines set none of them.
const (
	// AttributeReturned counts how often it was sent again because the thread or the store was
	// busy
	AttributeReturned = "returned"
	AttributeCode     = "code"   // of a dead letter: the error code
	AttributeDetail   = "detail" // of a dead letter: the reason in words
)

// Intake is the intake queue of one tenant, with its dead-letter queue. It is safe for concurrent
// use.
type Intake struct {
	queue
	dead   queue
	tenant string
}

// NewIntake returns the intake queue at a URL. The argument tenant determines its tenant, not its
// messages.
func NewIntake(api API, url, deadURL, tenant string) *Intake {
	return &Intake{queue{api, url}, queue{api, deadURL}, tenant}
}

// Receive implements [intake.Queue]. Tools and tests use it; Lambda delivers messages to functions
// itself.
func (q *Intake) Receive(ctx context.Context, max int) (ds []intake.Delivery, err error) {
	messages, err := q.receive(ctx, max, 0, AttributeReturned)
	for _, m := range messages {
		d := intake.Delivery{ID: *m.MessageId, Receipt: *m.ReceiptHandle, Body: []byte(*m.Body), Attempts: receives(m)}
		if returned := m.MessageAttributes[AttributeReturned].StringValue; returned != nil {
			d.Returned = ReadReturned(*returned)
		}
		d.Tenant = q.tenant
		ds = append(ds, d)
	}
	return ds, err
}

// ReadReturned parses [AttributeReturned]. Anything that is not a count means 0.
func ReadReturned(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// Settle implements [intake.Queue], but without atomicity: see the comment of the package.
func (q *Intake) Settle(ctx context.Context, d intake.Delivery, f intake.Result) error {
	gone, err := q.Move(ctx, d, f)
	if err != nil || !gone {
		return err
	}
	return q.remove(ctx, d.Receipt)
}

// A message of the maximum size of SQS cannot take another attribute. It is hidden for a long time
// where others are sent again; if its thread is busy for hours, it ends in the dead-letter queue.
const (
	mostSentAnew = 1<<20 - 1<<10
	hidden       = time.Hour
)

// Move applies a result except for removing the message; gone says that the message must be removed
// now. On an error it must stay.
//
// A busy message is not returned but sent again as a new message: SQS counts deliveries and nothing
// resets the count, so a thread that is busy for days would turn its message into a dead letter.
func (q *Intake) Move(ctx context.Context, d intake.Delivery, f intake.Result) (gone bool, err error) {
	switch f.Outcome {
	case intake.Busy:
		if len(d.Body) > mostSentAnew {
			return false, q.hide(ctx, d.Receipt, hidden)
		}
		err = q.put(ctx, d.Body, f.After, map[string]string{AttributeReturned: strconv.Itoa(d.Returned + 1)})
	case intake.Dead:
		err = q.dead.put(ctx, d.Body, 0, map[string]string{AttributeCode: string(f.Code), AttributeDetail: shown(f.Detail)})
	case intake.Failed:
		return false, q.hide(ctx, d.Receipt, f.After)
	}
	return err == nil, err
}

func (q queue) put(ctx context.Context, body []byte, delay time.Duration, attributes map[string]string) error {
	text := string(body)
	in := &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &text, DelaySeconds: seconds(delay, MaxDelay),
		MessageAttributes: map[string]types.MessageAttributeValue{}}
	for name, value := range attributes {
		kind := "String"
		in.MessageAttributes[name] = types.MessageAttributeValue{DataType: &kind, StringValue: &value}
	}
	if _, err := q.api.SendMessage(ctx, in); err != nil {
		return fmt.Errorf("sending a message of the intake queue: %w", q.translated("sending to", err))
	}
	return nil
}

// shown converts a reason to the value of an attribute: not empty, not long, and only with
// characters that SQS accepts.
func shown(detail string) string {
	const most = 1000
	clean := strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(detail, "\ufffd"))
	clean = clip.Bytes(clean, most, "...")
	if clean == "" {
		return "no reason given"
	}
	return clean
}
