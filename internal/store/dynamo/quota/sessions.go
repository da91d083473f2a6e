package quota

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// prefixSession begins the partition key of a session that was ended.
const prefixSession = "SE#"

// SessionsAPI is the part of the SDK's client that [Sessions] uses.
type SessionsAPI interface {
	API
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// Sessions remembers in the table which sessions of the console were ended before they expired. It
// implements session.Ended.
type Sessions struct {
	api   SessionsAPI
	table string
}

// NewSessions makes no request.
func NewSessions(api SessionsAPI, table string) *Sessions { return &Sessions{api, table} }

// EndSession is one put, which may be repeated. The record outlives the session. An error is an
// [engine.ErrUnavailable], and the session may be ended.
func (s *Sessions) EndSession(ctx context.Context, id string, expires time.Time) error {
	it := sessionKey(id)
	it[dynamo.TTLAttribute] = &types.AttributeValueMemberN{Value: strconv.FormatInt(expires.Add(markLife).Unix(), 10)}
	if _, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: it}); err != nil {
		return fmt.Errorf("%w: ending a session: %w", engine.ErrUnavailable, err)
	}
	return nil
}

// SessionEnded reads consistently: a person who has signed out is out at the next request. An error
// is an [engine.ErrUnavailable].
func (s *Sessions) SessionEnded(ctx context.Context, id string) (bool, error) {
	got, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: sessionKey(id), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return false, fmt.Errorf("%w: reading whether a session was ended: %w", engine.ErrUnavailable, err)
	}
	return len(got.Item) > 0, nil
}

func sessionKey(id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{attrPK: text(prefixSession + id), attrSK: text("#")}
}
