package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// attrWatched is the time until which someone watches what the thread's model says, in seconds
// since the Unix epoch. It is no part of [core.Head]: no condition reads it, and no write of the
// protocol sets or removes it.
const attrWatched = "lw"

// MarkWatched notes in the head of a thread that someone watches it until then, unless it is
// watched for longer. The owner of the run finds the mark in the answers to its own requests, so
// that a run that no one watches costs it nothing:
//
//	watcher:  mark ────────┐
//	owner:    claim ... look for a cancel ──> the head, with the mark ... commit ...
//
// The mark changes neither epoch nor rev nor sigs, so it refuses no write. It is sent once: a mark
// that is lost delays live text until the next.
func (s *Store) MarkWatched(ctx context.Context, tenant, thread string, until time.Time) error {
	u := &update{key: headKey(tenant, thread)}
	u.set(attrWatched, number(until.Unix()))
	u.require("attribute_exists({pk}) AND (attribute_not_exists({lw}) OR {lw} < " + u.value(attrWatched, number(until.Unix())) + ")")
	_, err := s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.o.Table, Key: u.key.attributes(), UpdateExpression: u.changes(),
		ConditionExpression: u.condition(), ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values},
		func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	return err
}

// seen decodes a head that a request returned, and reports it.
func (s *Store) seen(it item) (core.Head, error) {
	h, err := readHead(it)
	if err == nil && s.o.Seen != nil {
		s.o.Seen(h, time.Unix(numberAt(it, attrWatched), 0))
	}
	return h, err
}
