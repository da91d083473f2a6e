// Command baseline is the function to which the cold start of the step function is compared. It
// makes the same requests to the table, the queue and the model with the same clients of the SDK,
// and does nothing else. It shares no code with Dormouse.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	model "github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	config := aws.Config{Region: os.Getenv("AWS_REGION"), BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL")),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY")}, nil
		})}
	f := &function{table: dynamodb.NewFromConfig(config), queue: sqs.NewFromConfig(config), model: bedrockruntime.NewFromConfig(config,
		func(o *bedrockruntime.Options) {
			o.BaseEndpoint = aws.String(os.Getenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME"))
		})}
	lambda.StartWithOptions(f.handle, lambda.WithEnableSIGTERM(func() {}))
}

type function struct {
	table *dynamodb.Client
	queue *sqs.Client
	model *bedrockruntime.Client
	pk    string
}

// handle makes the requests that the environment names, one after the other.
func (f *function) handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	f.pk = "baseline#" + e.Records[0].MessageId
	operations := map[string]func(context.Context, int) error{"GetItem": f.get, "Query": f.query, "PutItem": f.put, "UpdateItem": f.update,
		"SendMessage": f.send, "ConverseStream": f.ask, "look": look}
	for n, name := range strings.Fields(os.Getenv("BASELINE_REQUESTS")) {
		if err := operations[name](ctx, n); err != nil {
			return events.SQSEventResponse{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}, nil
}

func (f *function) key(n int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: f.pk}, "sk": &types.AttributeValueMemberS{Value: strconv.Itoa(n)}}
}

func table() *string { return aws.String(os.Getenv("DORMOUSE_TABLE")) }

func (f *function) get(ctx context.Context, n int) error {
	_, err := f.table.GetItem(ctx, &dynamodb.GetItemInput{TableName: table(), Key: f.key(n)})
	return err
}

func (f *function) put(ctx context.Context, n int) error {
	it := f.key(n)
	it["body"] = &types.AttributeValueMemberB{Value: make([]byte, 500)}
	_, err := f.table.PutItem(ctx, &dynamodb.PutItemInput{TableName: table(), Item: it, ConditionExpression: aws.String("attribute_not_exists(pk)")})
	return err
}

func (f *function) update(ctx context.Context, _ int) error {
	_, err := f.table.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table(), Key: f.key(0), UpdateExpression: aws.String("SET #body = :body"),
		ExpressionAttributeNames:  map[string]string{"#body": "body"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":body": &types.AttributeValueMemberB{Value: make([]byte, 500)}}})
	return err
}

func (f *function) query(ctx context.Context, _ int) error {
	_, err := f.table.Query(ctx, &dynamodb.QueryInput{TableName: table(), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: f.pk}}})
	return err
}

func (f *function) send(ctx context.Context, _ int) error {
	_, err := f.queue.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: aws.String(os.Getenv("DORMOUSE_WAKE_QUEUE_URL")), MessageBody: aws.String(`{"run":"run_1"}`)})
	return err
}

// ask reads the answer of the model to its end.
func (f *function) ask(ctx context.Context, _ int) error {
	out, err := f.model.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: aws.String(os.Getenv("BASELINE_MODEL")),
		Messages: []model.Message{{Role: model.ConversationRoleUser, Content: []model.ContentBlock{&model.ContentBlockMemberText{Value: "Look them up."}}}}})
	if err != nil {
		return err
	}
	stream := out.GetStream()
	for range stream.Events() { //nolint:revive // to the end
	}
	if err := stream.Err(); err != nil {
		return err
	}
	return stream.Close()
}

func look(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/orders/%d", os.Getenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME"), n), http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
