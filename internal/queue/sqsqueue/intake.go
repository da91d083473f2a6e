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

// Attributes of messages of the intake queue. A pipeline sets none of them.
const (
	// how often it was put back because the thread or the store was busy
	AttributeReturned = "returned"
	AttributeCode     = "code"   // of a dead letter: why it is one
	AttributeDetail   = "detail" // of a dead letter: why, in words
)

// Intake is the intake queue of one tenant, and the queue of its dead letters. Safe for concurrent
// use.
type Intake struct {
	queue
	dead   queue
	tenant string
}

// NewIntake is the intake queue at a URL. Whose it is says tenant, and nothing in its messages.
func NewIntake(api API, url, deadURL, tenant string) *Intake {
	return &Intake{queue{api, url}, queue{api, deadURL}, tenant}
}

// Receive implements [intake.Queue], for tools and tests: functions are handed their messages.
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

// ReadReturned reads [AttributeReturned]. Whatever else stands there is none.
func ReadReturned(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// Settle implements [intake.Queue], but for its promise of all or nothing: see the package's
// comment.
func (q *Intake) Settle(ctx context.Context, d intake.Delivery, f intake.Fate) error {
	gone, err := q.Move(ctx, d, f)
	if err != nil || !gone {
		return err
	}
	return q.remove(ctx, d.Receipt)
}

// A message as large as SQS takes has no room for an attribute more. It is hidden for long where
// others are sent anew; should its thread be busy for hours, it ends among the dead letters.
const (
	mostSentAnew = 1<<20 - 1<<10
	hidden       = time.Hour
)

// Move does everything that a fate asks for but remove the message; gone says that it is to be
// removed now. On an error it is to stay.
//
// A busy message is not given back but sent anew: SQS counts hand-overs and nothing takes one back,
// so that a thread which is busy for days would make a dead letter of it.
func (q *Intake) Move(ctx context.Context, d intake.Delivery, f intake.Fate) (gone bool, err error) {
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
		return fmt.Errorf("putting a message elsewhere: %w", q.translated("sending to", err))
	}
	return nil
}

// shown is a reason as an attribute may have it: not empty, not long, and of characters that SQS
// takes.
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
		return "no reason is known"
	}
	return clean
}
