package awsdouble_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// queuesApart are the steps that a second server may answer differently, each with who does and why
// the double does what it does.
var queuesApart = map[string]string{
	"a queue with a long delay": "ElasticMQ 1.7.1 and moto 5.2.1 take it; the API's reference says 900 at most",
	"an empty body":             "moto takes it; a body has one character at least",
	"a control character":       "moto takes it; the API's reference lists the characters that a body may have",
	"hide it too long":          "ElasticMQ takes it; the API's reference says 43,200 seconds at most",
	"delete again":              "ElasticMQ refuses it; the service answers success for a message that is gone",
	"batch of an odd id":        "ElasticMQ takes it; an id has letters, digits, hyphens and underscores",
	"batch of no entry":         "ElasticMQ takes it; the service has EmptyBatchRequest",
	"attributes":                "ElasticMQ does not tell the limits of a queue, and holds the entry with the odd id",
	"batch in part":             "moto answers with a text where a boolean belongs, which the SDK does not read",
}

// TestASecondQueueServerAnswersTheSame plays one story on the double and on a server that others
// wrote. What is refused must be refused by both; the codes of refusals are told but not compared,
// as no two servers have the same.
func TestASecondQueueServerAnswersTheSame(t *testing.T) {
	second := os.Getenv("DORMOUSE_TEST_SQS")
	if second == "" {
		t.Skip("not run: the comparison with a second SQS; DORMOUSE_TEST_SQS names no server, as http://127.0.0.1:9324 would")
	}
	d := awsdouble.New(awsdouble.Options{Seed: 1})
	config := d.Config()
	config.HTTPClient, config.BaseEndpoint = nil, &second
	mark := fmt.Sprint(time.Now().UnixNano()) // the server may keep the queues of earlier runs
	ours, theirs := playQueues(t.Context(), d.SQS(), mark), playQueues(t.Context(), sqs.NewFromConfig(config), mark)
	for i, step := range ours {
		their := theirs[i]
		if step.name != their.name {
			t.Fatalf("the story went on with %q here and %q there", step.name, their.name)
		}
		if step.result == their.result && step.refused == "" && their.refused == "" || step.refused != "" && their.refused != "" {
			continue
		}
		report := fmt.Sprintf("%s:\nsecond server: %s %s\ndouble:        %s %s", step.name, their.result, their.refused, step.result, step.refused)
		if why := queuesApart[step.name]; why != "" {
			t.Logf("%s\ndeclared: %s", report, why)
		} else {
			t.Error(report)
		}
	}
}

type queueStep struct{ name, result, refused string }

// queuePlayer writes down what each step was answered, without what is random.
type queuePlayer struct {
	ctx   context.Context
	sqs   *sqs.Client
	url   *string
	steps []queueStep
}

func (p *queuePlayer) note(name string, result any, err error) {
	p.steps = append(p.steps, queueStep{name, fmt.Sprint(result), code(err)})
}

func playQueues(ctx context.Context, client *sqs.Client, mark string) []queueStep {
	p := &queuePlayer{ctx: ctx, sqs: client}
	dead := p.create("create the dead letters", "dead"+mark, nil)
	p.create("dead letters that are not there", "bad"+mark, map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:nowhere","maxReceiveCount":"2"}`})
	p.create("a queue with a long delay", "slow"+mark, map[string]string{"DelaySeconds": "901"})
	p.url = p.create("create", "wake"+mark, map[string]string{"VisibilityTimeout": "600"})
	p.create("create it again", "wake"+mark, map[string]string{"VisibilityTimeout": "600"})
	p.create("create it otherwise", "wake"+mark, map[string]string{"VisibilityTimeout": "60"})
	p.redriveTo(dead)
	p.sends(p.create("create another", "odd"+mark, nil))
	p.hands(dead)
	p.batches()
	_, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("none" + mark)})
	p.note("no queue", nil, err)
	return p.steps
}

func (p *queuePlayer) create(step, name string, attributes map[string]string) *string {
	out, err := p.sqs.CreateQueue(p.ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		p.note(step, nil, err)
		return nil
	}
	p.note(step, strings.HasSuffix(*out.QueueUrl, "/"+name), nil)
	return out.QueueUrl
}

func (p *queuePlayer) redriveTo(dead *string) {
	out, err := p.sqs.GetQueueAttributes(p.ctx, &sqs.GetQueueAttributesInput{QueueUrl: dead, AttributeNames: []types.QueueAttributeName{"QueueArn"}})
	if err != nil {
		p.note("the name of the dead letters", nil, err)
		return
	}
	_, err = p.sqs.SetQueueAttributes(p.ctx, &sqs.SetQueueAttributesInput{QueueUrl: p.url,
		Attributes: map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + out.Attributes["QueueArn"] + `","maxReceiveCount":"2"}`}})
	p.note("redrive", nil, err)
}

// sends puts what should be refused into a queue of its own, so that a server which takes it can go
// on with the story.
func (p *queuePlayer) sends(odd *string) {
	for i, c := range []struct {
		name string
		in   sqs.SendMessageInput
	}{
		{"send with attributes", sqs.SendMessageInput{MessageBody: aws.String(`{"tenant":"é"}`), MessageGroupId: aws.String("acme"),
			MessageAttributes: map[string]types.MessageAttributeValue{"a": {DataType: aws.String("String"), StringValue: aws.String("x")}, "b": {DataType: aws.String("Binary"), BinaryValue: []byte{1}}}}},
		{"an empty body", sqs.SendMessageInput{MessageBody: aws.String("")}},
		{"a long delay", sqs.SendMessageInput{MessageBody: aws.String("x"), DelaySeconds: 901}},
		{"a control character", sqs.SendMessageInput{MessageBody: aws.String("a\x02")}},
		{"too long", sqs.SendMessageInput{MessageBody: aws.String(strings.Repeat("x", 1<<20+1))}},
		{"a type that is none", sqs.SendMessageInput{MessageBody: aws.String("x"), MessageAttributes: map[string]types.MessageAttributeValue{"a": {DataType: aws.String("Text"), StringValue: aws.String("x")}}}},
	} {
		c.in.QueueUrl = odd
		if i == 0 {
			c.in.QueueUrl = p.url
		}
		out, err := p.sqs.SendMessage(p.ctx, &c.in)
		if err != nil {
			p.note(c.name, nil, err)
			continue
		}
		p.note(c.name, aws.ToString(out.MD5OfMessageBody)+" "+aws.ToString(out.MD5OfMessageAttributes), nil)
	}
}

func (p *queuePlayer) receive(step string, url *string) (handle *string) {
	out, err := p.sqs.ReceiveMessage(p.ctx, &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"ApproximateReceiveCount", "MessageGroupId"}, MessageAttributeNames: []string{"All"}})
	if err != nil {
		p.note(step, nil, err)
		return nil
	}
	var lines []string
	for _, m := range out.Messages {
		handle = m.ReceiptHandle
		lines = append(lines, fmt.Sprint(*m.Body, m.Attributes, sortedKeys(m.MessageAttributes), aws.ToString(m.MD5OfMessageAttributes)))
	}
	p.note(step, lines, nil)
	return handle
}

func (p *queuePlayer) hands(dead *string) {
	_, err := p.sqs.ReceiveMessage(p.ctx, &sqs.ReceiveMessageInput{QueueUrl: p.url, MaxNumberOfMessages: 11})
	p.note("receive eleven", nil, err)
	first := p.receive("receive", p.url)
	p.receive("receive what is in flight", p.url)
	p.visible("make it visible", first, 0)
	second := p.receive("receive again", p.url)
	p.visible("hide it too long", second, 43201)
	p.visible("a handle that is none", aws.String("nonsense"), 5)
	p.visible("make it visible again", second, 0)
	p.receive("receive a third time", p.url)
	last := p.receive("receive from the dead letters", dead)
	_, err = p.sqs.DeleteMessage(p.ctx, &sqs.DeleteMessageInput{QueueUrl: dead, ReceiptHandle: last})
	p.note("delete", nil, err)
	_, err = p.sqs.DeleteMessage(p.ctx, &sqs.DeleteMessageInput{QueueUrl: dead, ReceiptHandle: last})
	p.note("delete again", nil, err)
	_, err = p.sqs.DeleteMessage(p.ctx, &sqs.DeleteMessageInput{QueueUrl: dead, ReceiptHandle: aws.String("nonsense")})
	p.note("delete nonsense", nil, err)
}

func (p *queuePlayer) visible(step string, handle *string, seconds int32) {
	_, err := p.sqs.ChangeMessageVisibility(p.ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: p.url, ReceiptHandle: handle, VisibilityTimeout: seconds})
	p.note(step, nil, err)
}

func (p *queuePlayer) batches() {
	for _, batch := range []string{"eleven: a b c d e f g h i j k", "one twice: a a", "an odd id: a.b", "no entry: "} {
		step, ids, _ := strings.Cut(batch, ":")
		in := &sqs.SendMessageBatchInput{QueueUrl: p.url, Entries: []types.SendMessageBatchRequestEntry{}}
		for _, id := range strings.Fields(ids) {
			in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(id), MessageBody: aws.String("x")})
		}
		_, err := p.sqs.SendMessageBatch(p.ctx, in)
		p.note("batch of "+step, nil, err)
	}
	out, err := p.sqs.SendMessageBatch(p.ctx, &sqs.SendMessageBatchInput{QueueUrl: p.url, Entries: []types.SendMessageBatchRequestEntry{
		{Id: aws.String("good"), MessageBody: aws.String("x"), DelaySeconds: 900}, {Id: aws.String("bad"), MessageBody: aws.String("x"), DelaySeconds: 901}}})
	if err != nil {
		out = &sqs.SendMessageBatchOutput{}
	}
	p.note("batch in part", fmt.Sprint(len(out.Successful), len(out.Failed)), err)
	attributes, err := p.sqs.GetQueueAttributes(p.ctx, &sqs.GetQueueAttributesInput{QueueUrl: p.url, AttributeNames: []types.QueueAttributeName{
		"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible", "VisibilityTimeout", "DelaySeconds", "MessageRetentionPeriod", "MaximumMessageSize"}})
	if err != nil {
		p.note("attributes", nil, err)
		return
	}
	p.note("attributes", attributes.Attributes, nil)
}
