// Package eventbridge sends notices to an event bus of Amazon EventBridge.
package eventbridge

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/notify/sink"
)

// API is the part of the SDK's client that is used. It must not retry by itself.
type API interface {
	PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, opts ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

// Sender sends each notice as one event. The detail type is "dormouse." and the type of the notice,
// and the detail is the notice.
type Sender struct {
	API    API
	Bus    string // name or ARN
	Source string // of the events
}

// timeSize is what EventBridge counts for the time of an event.
const timeSize = 14

// Send makes one attempt. An event that the bus refuses is attempted again, because an operator can
// correct the permission or the bus.
func (s Sender) Send(ctx context.Context, _ notice.Target, n client.Notice) delivery.Result {
	detail, err := sink.Message(n)
	if err != nil {
		return delivery.Result{Outcome: notice.Hopeless, Error: "the notice can't be written as JSON"}
	}
	kind := "dormouse." + n.Type
	if size := len(detail) + len(kind) + len(s.Source) + timeSize; size > sink.MostBytes {
		return sink.TooLarge(size)
	}
	out, err := s.API.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{EventBusName: &s.Bus, Source: &s.Source,
		DetailType: &kind, Detail: &detail, Time: aws.Time(n.Timestamp.Time)}}})
	switch {
	case err != nil:
		return sink.Failed("EventBridge", err)
	case len(out.Entries) != 1:
		return delivery.Result{Outcome: notice.Refused, Error: "EventBridge did not say what became of the event"}
	case out.Entries[0].ErrorCode != nil:
		return delivery.Result{Outcome: notice.Refused, Status: 200, Error: fmt.Sprintf("EventBridge refused the event: %s", *out.Entries[0].ErrorCode)}
	}
	return delivery.Result{Outcome: notice.Delivered, Status: 200}
}
