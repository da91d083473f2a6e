package sqsqueue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

var errUnconfirmed = errors.New("SQS answered for other messages")

// SendAll sends up to ten wake-ups with one request. It returns one error for each; nil where SQS
// has the message.
func (q *Wake) SendAll(ctx context.Context, ws []engine.Wakeup) []error {
	errs := make([]error, len(ws))
	entries := make([]types.SendMessageBatchRequestEntry, len(ws))
	for i, w := range ws {
		body, group, id := written(w), group(w.Tenant), strconv.Itoa(i)
		entries[i] = types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body, MessageGroupId: &group}
		errs[i] = q.translated("sending to", errUnconfirmed)
	}
	if len(ws) == 0 {
		return nil
	}
	out, err := q.api.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &q.url, Entries: entries})
	if err != nil {
		for i := range errs {
			errs[i] = q.translated("sending to", err)
		}
		return errs
	}
	for _, done := range out.Successful {
		if i, known := numbered(done.Id, errs); known {
			errs[i] = nil
		}
	}
	for _, failed := range out.Failed {
		if i, known := numbered(failed.Id, errs); known {
			errs[i] = q.translated("sending to", fmt.Errorf("%s: %s", aws.ToString(failed.Code), aws.ToString(failed.Message)))
		}
	}
	return errs
}

// numbered is the index of the message that an answer is about.
func numbered(id *string, errs []error) (i int, known bool) {
	i, err := strconv.Atoi(aws.ToString(id))
	return i, err == nil && i >= 0 && i < len(errs)
}
