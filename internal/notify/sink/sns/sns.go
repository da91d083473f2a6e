// Package sns sends notices to a topic of Amazon SNS.
package sns

import (
	"context"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/notify/sink"
)

// API is the part of the SDK's client that is used. It must not retry by itself.
type API interface {
	Publish(ctx context.Context, in *sns.PublishInput, opts ...func(*sns.Options)) (*sns.PublishOutput, error)
}

// Sender publishes each notice as one message. Its attributes type, agent and tenant are for the
// filters of subscriptions.
type Sender struct {
	API   API
	Topic string // ARN of a standard topic
}

// Send makes one attempt. A message that the topic refuses is attempted again, because an operator
// can correct the permission or the topic.
func (s Sender) Send(ctx context.Context, _ notice.Target, n client.Notice) delivery.Result {
	message, err := sink.Message(n)
	if err != nil {
		return delivery.Result{Outcome: notice.Hopeless, Error: "the notice can't be written as JSON"}
	}
	attributes, size := attributes(n)
	if size += len(message); size > sink.MostBytes {
		return sink.TooLarge(size)
	}
	if _, err := s.API.Publish(ctx, &sns.PublishInput{TopicArn: &s.Topic, Message: &message, MessageAttributes: attributes}); err != nil {
		return sink.Failed("SNS", err)
	}
	return delivery.Result{Outcome: notice.Delivered, Status: 200}
}

// attributes are those of a message, and how many bytes they take up. SNS refuses empty ones and
// those with control characters.
func attributes(n client.Notice) (map[string]types.MessageAttributeValue, int) {
	const kind = "String"
	values := map[string]string{"type": n.Type, "tenant": n.Tenant}
	if n.Run != nil {
		values["agent"] = n.Run.Agent
	}
	all, size := map[string]types.MessageAttributeValue{}, 0
	for name, value := range values {
		if value != "" && !strings.ContainsFunc(value, unsendable) {
			all[name] = types.MessageAttributeValue{DataType: aws.String(kind), StringValue: &value}
			size += len(name) + len(kind) + len(value)
		}
	}
	return all, size
}

func unsendable(r rune) bool { return !unicode.IsGraphic(r) }
