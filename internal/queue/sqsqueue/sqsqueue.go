// Package sqsqueue is the queue of wake-ups and the intake queue on standard queues of Amazon SQS.
// It sends, receives and settles; what a wake-up is good for says package engine, and what becomes
// of a message of the intake queue package intake.
//
// A standard queue promises less than the queue in package sqlite, and engine and intake need no
// more:
//
//   - There is no order, and a message may be handed over twice although nobody gave it back.
//   - A receipt is not revoked by the next hand-over: a late [Wake.Ack] may be taken, and the
//     message be gone or not. Likewise after a
//     [Wake.Nack]. Whoever holds such a receipt has lost the run to another epoch long before.
//   - Times are whole seconds, rounded up: a message that came too early would be dropped as stale.
//     The longest delay is [MaxDelay].
//   - A dead letter does not say why it is one, but for those that [Intake.Move] puts aside itself.
//   - Nothing is one transaction: a message of the intake queue is put elsewhere first and removed
//     then, so that a crash between leaves
//     two and never none. One key starts one run.
//
// What is on a queue and is not ours never loops: on the wake queue it is reported as failed each
// time, until the queue's redrive policy makes it a dead letter, where an alarm tells a person. On
// the intake queue it is moved to the dead letters at once, with the reason.
package sqsqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// MaxDelay is the longest delay of a message. A wake-up that is wanted later is sent too early,
// finds nothing to claim and is dropped: the sweep sends the one that counts.
const MaxDelay = 900 * time.Second

// maxVisibility is the longest a message can be hidden.
const maxVisibility = 12 * time.Hour

// maxReceive is the most that one request hands over.
const maxReceive = 10

// API is what is asked of the SDK's client. Its retryer has sent a request a few times before an
// error comes back; so an error of the network, a throttle and a fault of the service are
// [engine.ErrUnavailable] at once.
type API interface {
	SendMessage(ctx context.Context, in *sqs.SendMessageInput, opts ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, opts ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessage(ctx context.Context, in *sqs.DeleteMessageInput, opts ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
	ChangeMessageVisibility(ctx context.Context, in *sqs.ChangeMessageVisibilityInput,
		opts ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
}

// queue is one queue of SQS.
type queue struct {
	api API
	url string
}

func (q queue) receive(ctx context.Context, max int, wait time.Duration, attributes ...string) ([]types.Message, error) {
	if max < 1 {
		return nil, nil
	}
	out, err := q.api.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &q.url, MaxNumberOfMessages: int32(min(max, maxReceive)),
		WaitTimeSeconds:             seconds(wait, 20*time.Second),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameApproximateReceiveCount},
		MessageAttributeNames:       attributes})
	if err != nil {
		return nil, q.translated("receiving from", err)
	}
	return out.Messages, nil
}

// remove deletes a message. [engine.ErrRefused] if the receipt is none of this queue's.
func (q queue) remove(ctx context.Context, receipt string) error {
	_, err := q.api.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: &receipt})
	return q.settled("deleting from", err)
}

// hide shows a message again after a while. [engine.ErrRefused] if the receipt is none of this
// queue's, or the message is not hidden.
func (q queue) hide(ctx context.Context, receipt string, after time.Duration) error {
	_, err := q.api.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &q.url, ReceiptHandle: &receipt,
		VisibilityTimeout: seconds(after, maxVisibility)})
	return q.settled("giving back to", err)
}

// seconds rounds up, and clips.
func seconds(d, most time.Duration) int32 {
	return int32((min(max(d, 0), most) + time.Second - 1) / time.Second)
}

// settled translates what SQS says to a receipt.
func (q queue) settled(doing string, err error) error {
	if refused(err) {
		return fmt.Errorf("%w: %s %s: %v", engine.ErrRefused, doing, q.url, err)
	}
	return q.translated(doing, err)
}

// translated leaves none of the SDK's errors to be asked for by type; their text stays, for the
// log.
func (q queue) translated(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w: %s %s", engine.ErrUnavailable, context.Canceled, doing, q.url)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w: %s %s", engine.ErrUnavailable, context.DeadlineExceeded, doing, q.url)
	}
	return fmt.Errorf("%w: %s %s: %v", engine.ErrUnavailable, doing, q.url, err)
}

// refused says whether SQS knows the receipt no more. It says so in one of several ways, by what
// became of the message.
func refused(err error) bool {
	var invalid *types.ReceiptHandleIsInvalid
	var shown *types.MessageNotInflight
	if errors.As(err, &invalid) || errors.As(err, &shown) {
		return true
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}
	switch api.ErrorCode() {
	case "ReceiptHandleIsInvalid", "InvalidParameterValue", "AWS.SimpleQueueService.MessageNotInflight", "MessageNotInflight":
		return true
	}
	return false
}
