package stack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Create makes the table and the queues on servers, and returns by logical id where each queue is.
// Dead-letter queues are made before those that name them.
func (s *Stack) Create(ctx context.Context, db *dynamodb.Client, queues *sqs.Client) (map[string]string, error) {
	if !s.Table.Given {
		if err := s.createTable(ctx, db); err != nil {
			return nil, fmt.Errorf("table %s: %w", s.Table.Name, err)
		}
	}
	urls := map[string]string{}
	for _, dead := range []bool{true, false} {
		for _, id := range slices.Sorted(maps.Keys(s.Queues)) {
			q := s.Queues[id]
			if (q.DeadARN == "") != dead {
				continue
			}
			// The policy of who may redrive here names queues that are not there yet;
			// no server of this machine heeds it.
			attributes := maps.Clone(q.Attributes)
			delete(attributes, "RedriveAllowPolicy")
			made, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &q.Name, Attributes: attributes})
			if err != nil {
				return nil, fmt.Errorf("queue %s: %w", q.Name, err)
			}
			urls[id] = *made.QueueUrl
		}
	}
	return urls, nil
}

func (s *Stack) createTable(ctx context.Context, db *dynamodb.Client) error {
	input := &dynamodb.CreateTableInput{TableName: &s.Table.Name, BillingMode: types.BillingModePayPerRequest, KeySchema: s.Table.Key.schema()}
	for _, name := range slices.Sorted(maps.Keys(s.Table.Attributes)) {
		input.AttributeDefinitions = append(input.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name,
			AttributeType: types.ScalarAttributeType(s.Table.Attributes[name])})
	}
	for _, i := range s.Table.Indexes {
		input.GlobalSecondaryIndexes = append(input.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{IndexName: &i.Name, KeySchema: i.Key.schema(),
			Projection: &types.Projection{ProjectionType: types.ProjectionType(i.Projection)}})
	}
	if _, err := db.CreateTable(ctx, input); err != nil {
		return err
	}
	if err := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 100 * time.Millisecond }).
		Wait(ctx, &dynamodb.DescribeTableInput{TableName: &s.Table.Name}, time.Minute); err != nil {
		return err
	}
	if s.Table.TTL == "" {
		return nil
	}
	_, err := db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &s.Table.Name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &s.Table.TTL, Enabled: aws.Bool(true)}})
	return err
}

func (k Key) schema() []types.KeySchemaElement {
	out := []types.KeySchemaElement{{AttributeName: &k.Partition, KeyType: types.KeyTypeHash}}
	if k.Sort != "" {
		out = append(out, types.KeySchemaElement{AttributeName: &k.Sort, KeyType: types.KeyTypeRange})
	}
	return out
}

// Delete takes away what Create made. What is not there is fine.
func (s *Stack) Delete(ctx context.Context, db *dynamodb.Client, queues *sqs.Client, urls map[string]string) error {
	var err error
	if !s.Table.Given {
		_, err = db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &s.Table.Name})
	}
	if _, gone := errors.AsType[*types.ResourceNotFoundException](err); gone {
		err = nil
	}
	for _, url := range urls {
		_, failed := queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
		err = errors.Join(err, failed)
	}
	return err
}
