// Package sqsqueue implements the wake-up queue and the intake queue on standard queues of Amazon
// SQS. It sends, receives and settles messages; package engine defines what a wake-up means, and
// package intake what happens to a message of the intake queue.
//
// A standard queue guarantees less than the queue in package sqlite, and the engine and package
// intake need no more:
//
//   - Messages arrive in any order, and a message may be delivered twice without having been
//     returned.
//   - The next delivery does not revoke an older receipt: a late [Wake.Ack] may be accepted and
//     remove the message or not, and so may a late [Wake.Nack]. The holder of such a receipt has
//     already lost the run to a newer epoch.
//   - Times are whole seconds, rounded up, because a message that arrives too early would be
//     dropped as stale. The longest delay is [MaxDelay].
//   - A dead letter has no reason, except for those that [Intake.Move] sends itself.
//   - There are no transactions: a message of the intake queue is first sent to its new place and
//     then removed, so that a crash in between leaves two copies and never none. One key starts one
//     run.
//
// Messages that are not ours never loop. On the wake-up queue they are reported as failed each
// time, until the redrive policy moves them to the dead-letter queue, where an alarm notifies the
// operator. On the intake queue they are moved to the dead-letter queue at once, with the reason.
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

// MaxDelay is the maximum delay of a message. A wake-up that is due later is sent too early, finds
// nothing to claim and is dropped; the sweep sends the one that counts.
const MaxDelay = 900 * time.Second

// maxVisibility is the maximum time for which a message can be hidden.
const maxVisibility = 12 * time.Hour

// maxReceive is the maximum number of messages per request.
const maxReceive = 10

// API is the part of the SDK's client that is used. The client's retryer has already retried before
// it returns an error, so a network error, a throttle and a fault of the service are
// [engine.ErrUnavailable] at once.
type API interface {
	SendMessage(ctx context.Context, in *sqs.SendMessageInput, opts ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, opts ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
	ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, opts ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessage(ctx context.Context, in *sqs.DeleteMessageInput, opts ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
	ChangeMessageVisibility(ctx context.Context, in *sqs.ChangeMessageVisibilityInput,
		opts ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
}

// queue is one SQS queue.
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

// remove deletes a message. It returns [engine.ErrRefused] if the receipt does not belong to this
// queue.
func (q queue) remove(ctx context.Context, receipt string) error {
	_, err := q.api.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: &receipt})
	return q.settled("deleting from", err)
}

// hide makes a message visible again after a while. It returns [engine.ErrRefused] if the receipt
// does not belong to this queue, or the message is not hidden.
func (q queue) hide(ctx context.Context, receipt string, after time.Duration) error {
	_, err := q.api.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &q.url, ReceiptHandle: &receipt,
		VisibilityTimeout: seconds(after, maxVisibility)})
	return q.settled("returning to", err)
}

// seconds rounds up, and clips to most.
func seconds(d, most time.Duration) int32 {
	return int32((min(max(d, 0), most) + time.Second - 1) / time.Second)
}

// settled translates the response of SQS to a receipt.
func (q queue) settled(doing string, err error) error {
	if refused(err) {
		return fmt.Errorf("%w: %s %s: %v", engine.ErrRefused, doing, q.url, err)
	}
	return q.translated(doing, err)
}

// translated hides the types of the SDK's errors and keeps their text for the log.
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

// refused reports whether SQS no longer accepts the receipt. SQS says so in several ways, which
// depend on what happened to the message.
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
