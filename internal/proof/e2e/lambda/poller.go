package lambda

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Poller is an event source mapping: it takes messages from a queue, calls the function with them,
// deletes those it has done and leaves the others, which come again when their visibility is over.
// As Lambda's, it takes more than it is asked to if several of it run, and gives nothing back
// early.
type Poller struct {
	Service     *Service
	SQS         *sqs.Client
	Queue, ARN  string // URL and ARN
	Function    string
	Batch       int
	ReportItems bool
	Concurrency int
	Region      string
	Logger      *slog.Logger
	// Double, if it is set, says of a message that it is to be given to the function twice at
	// the same time, as a standard queue may.
	Double func(id string) bool
}

// Run polls until ctx ends, and returns once all its calls have.
func (p *Poller) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for range p.Concurrency {
		wg.Go(func() {
			for ctx.Err() == nil {
				p.once(ctx)
			}
		})
	}
	wg.Wait()
}

const (
	pollWait  = 2 * time.Second        // of one receive; Lambda waits up to 20
	pollPause = 200 * time.Millisecond // after one that failed
)

func (p *Poller) once(ctx context.Context) {
	out, err := p.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &p.Queue, MaxNumberOfMessages: int32(p.Batch),
		WaitTimeSeconds: int32(pollWait / time.Second), MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}})
	if err != nil {
		if ctx.Err() == nil {
			p.Logger.Warn("receiving failed", "queue", p.Queue, "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(pollPause):
			}
		}
		return
	}
	if len(out.Messages) > 0 {
		p.deliver(ctx, out.Messages)
	}
}

func (p *Poller) deliver(ctx context.Context, messages []types.Message) {
	event, err := json.Marshal(map[string]any{"Records": p.records(messages)})
	if err != nil {
		p.Logger.Error("an event cannot be encoded", "error", err)
		return
	}
	var wg sync.WaitGroup
	if p.Double != nil && p.Double(*messages[0].MessageId) {
		wg.Go(func() { _, _ = p.call(ctx, event) })
	}
	failed, err := p.call(ctx, event)
	wg.Wait()
	if err != nil {
		if ctx.Err() == nil {
			p.Logger.Info("messages are left", "queue", p.Queue, "error", err)
		}
		return
	}
	for _, m := range messages {
		if failed[*m.MessageId] {
			continue
		}
		// What was done is deleted even if the proof is over: a message that stays would be
		// done again by the next one.
		if _, err := p.SQS.DeleteMessage(context.WithoutCancel(ctx), &sqs.DeleteMessageInput{QueueUrl: &p.Queue, ReceiptHandle: m.ReceiptHandle}); err != nil {
			p.Logger.Warn("a message cannot be deleted", "queue", p.Queue, "error", err)
		}
	}
}

// call returns which messages the function could not do. An error means all of them.
func (p *Poller) call(ctx context.Context, event []byte) (failed map[string]bool, err error) {
	reply, err := p.Service.Invoke(ctx, p.Function, event)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		return nil, err
	}
	if !p.ReportItems {
		return nil, nil
	}
	return itemFailures(body)
}

// itemFailures reads a batch response as Lambda does: nothing, null and an empty list are success;
// what is no such response is a failure of all.
func itemFailures(body []byte) (map[string]bool, error) {
	var said *struct {
		BatchItemFailures []struct {
			ItemIdentifier string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if len(body) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return nil, fmt.Errorf("the answer is no batch response: %w", err)
	}
	failed := map[string]bool{}
	if said == nil {
		return failed, nil
	}
	for _, item := range said.BatchItemFailures {
		if item.ItemIdentifier == "" {
			return nil, fmt.Errorf("the answer names a failed item without an identifier: %s", body)
		}
		failed[item.ItemIdentifier] = true
	}
	return failed, nil
}

// records are messages as Lambda shows them to a function.
func (p *Poller) records(messages []types.Message) []map[string]any {
	var out []map[string]any
	for _, m := range messages {
		attributes := map[string]any{}
		for name, a := range m.MessageAttributes {
			one := map[string]any{"dataType": aws.ToString(a.DataType), "stringListValues": []string{}, "binaryListValues": [][]byte{}}
			if a.StringValue != nil {
				one["stringValue"] = *a.StringValue
			}
			if a.BinaryValue != nil {
				one["binaryValue"] = a.BinaryValue
			}
			attributes[name] = one
		}
		out = append(out, map[string]any{"messageId": aws.ToString(m.MessageId), "receiptHandle": aws.ToString(m.ReceiptHandle), "body": aws.ToString(m.Body),
			"attributes": m.Attributes, "messageAttributes": attributes, "md5OfBody": aws.ToString(m.MD5OfBody),
			"eventSource": "aws:sqs", "eventSourceARN": p.ARN, "awsRegion": p.Region})
	}
	return out
}
