package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// query calls each for every item that it finds, page by page, until there are no more or each
// returns false.
func (s *Store) query(ctx context.Context, doing string, in *dynamodb.QueryInput, each func(item) (more bool, err error)) error {
	in.TableName = &s.o.Table
	for {
		out, err := s.api.Query(ctx, in)
		if err != nil {
			return s.unavailable(doing, err)
		}
		for _, it := range out.Items {
			if more, err := each(it); err != nil || !more {
				return err
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// indexQuery reads a partition of an index in order, starting after a position; "" is the
// beginning.
func indexQuery(index, hash, partition, order, behind string, forward bool, limit int) *dynamodb.QueryInput {
	var e expression
	condition := e.in("{" + hash + "} = :partition")
	e.value("partition", text(partition))
	if behind != "" {
		side := " < "
		if forward {
			side = " > "
		}
		condition += e.in(" AND {"+order+"}"+side) + e.value("behind", text(behind))
	}
	return &dynamodb.QueryInput{IndexName: aws.String(index), KeyConditionExpression: &condition, ScanIndexForward: &forward,
		Limit: aws.Int32(int32(limit)), ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values}
}

// mostInBatch is DynamoDB's limit.
const mostInBatch = 100

// items reads many items consistently. Missing items are absent from the result.
func (s *Store) items(ctx context.Context, doing string, keys []key) (map[key]item, error) {
	found, unread, err := s.partly(ctx, doing, keys)
	if err == nil && len(unread) > 0 {
		return nil, s.unavailable(doing, errUnread)
	}
	return found, err
}

// partly is items for lists: one item whose partition is throttled does not hide the others. unread
// are the keys that the server did not read.
func (s *Store) partly(ctx context.Context, doing string, keys []key) (found map[key]item, unread map[key]bool, err error) {
	found, unread = map[key]item{}, map[key]bool{}
	var left []item
	for _, k := range keys {
		if !unread[k] {
			unread[k], left = true, append(left, k.attributes())
		}
	}
	for pauses := 0; len(left) > 0 && pauses < mostConflicts; {
		n := min(len(left), mostInBatch)
		again, err := s.batch(ctx, left[:n], found)
		if err != nil {
			return nil, nil, s.unavailable(doing, err)
		}
		left = append(again, left[n:]...)
		if len(again) == 0 {
			continue
		}
		pauses++
		if err := s.pause(ctx, firstPause<<min(pauses, 10)); err != nil {
			return nil, nil, s.unavailable(doing, err)
		}
	}
	clear(unread)
	for _, it := range left {
		unread[keyOf(it)] = true
	}
	return found, unread, nil
}

// none is the error of a list of which nothing could be read.
func (s *Store) none(doing string, found map[key]item, unread map[key]bool) error {
	if len(found) == 0 && len(unread) > 0 {
		return s.unavailable(doing, errUnread)
	}
	return nil
}

// batch reads up to mostInBatch items and returns the keys that the server left for another
// request.
func (s *Store) batch(ctx context.Context, keys []item, found map[key]item) (unread []item, err error) {
	out, err := s.api.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		s.o.Table: {Keys: keys, ConsistentRead: aws.Bool(true)}}})
	if err != nil {
		return nil, err
	}
	for _, it := range out.Responses[s.o.Table] {
		found[keyOf(it)] = it
	}
	return out.UnprocessedKeys[s.o.Table].Keys, nil
}
