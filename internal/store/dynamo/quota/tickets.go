// Package quota keeps in the table what all processes of a stack allow together: the rates of
// tenants, which tickets of streams were used, and which sessions of the console were ended. Its
// items have separate partitions and a time to live.
package quota

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// Attributes of an item. The first two are the table's key.
const (
	attrPK = "pk"
	attrSK = "sk"
	attrBy = "by"
)

// PrefixTicket begins the partition key of a used ticket. The template allows the function that
// streams to write no other items.
const PrefixTicket = "TK#"

// API is the part of the SDK's client that [Tickets] uses.
type API interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// Tickets remembers in the table which tickets of streams were used.
type Tickets struct {
	api    API
	table  string
	random engine.Random
}

// NewTickets makes no request.
func NewTickets(api API, table string, random engine.Random) *Tickets {
	return &Tickets{api, table, random}
}

// Use marks a ticket as used, with one conditional put, which is one write unit. first is false if
// another call marked it. The mark outlives the ticket. An error is an
// [engine.ErrUnavailable], and the ticket may be marked.
//
// A put whose answer is lost is sent again by the client and meets its own item:
//
//	put by=k ── stored, answer lost ── refused: by=k, so it was first
func (t *Tickets) Use(ctx context.Context, id string, expires time.Time) (first bool, err error) {
	by := t.random.Text(16)
	_, err = t.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.table,
		Item: map[string]types.AttributeValue{attrPK: text(PrefixTicket + id), attrSK: text("#"), attrBy: text(by),
			dynamo.TTLAttribute: &types.AttributeValueMemberN{Value: strconv.FormatInt(expires.Add(markLife).Unix(), 10)}},
		ConditionExpression:                 aws.String("attribute_not_exists(" + attrPK + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	if err == nil {
		return true, nil
	}
	refused, marked := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !marked {
		return false, fmt.Errorf("%w: marking a stream ticket as used: %w", engine.ErrUnavailable, err)
	}
	was, _ := refused.Item[attrBy].(*types.AttributeValueMemberS)
	return was != nil && was.Value == by, nil
}

// markLife is how long a mark is kept beyond its ticket: longer than clocks differ.
const markLife = time.Hour

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
