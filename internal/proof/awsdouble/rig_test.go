package awsdouble_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

type (
	str  = types.AttributeValueMemberS
	num  = types.AttributeValueMemberN
	obj  = types.AttributeValueMemberM
	list = types.AttributeValueMemberL
	yes  = types.AttributeValueMemberBOOL
	strs = types.AttributeValueMemberSS
	nums = types.AttributeValueMemberNS
	item = map[string]types.AttributeValue
)

const table = "runs"

// rig is a double with a clock that stands still and one table with the indexes of the real one.
type rig struct {
	t   *testing.T
	d   *awsdouble.Double
	db  *dynamodb.Client
	now time.Time
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, now: time.Unix(1_800_000_000, 0)}
	r.d = awsdouble.New(awsdouble.Options{Clock: func() time.Time { return r.now }, Seed: 1})
	r.db = r.d.DynamoDB()
	if _, err := r.db.CreateTable(t.Context(), runsTable()); err != nil {
		t.Fatal(err)
	}
	return r
}

func runsTable() *dynamodb.CreateTableInput {
	index := func(name, hash, sort string) types.GlobalSecondaryIndex {
		return types.GlobalSecondaryIndex{IndexName: &name, KeySchema: keys(hash, sort), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}}
	}
	return &dynamodb.CreateTableInput{
		TableName: aws.String(table), BillingMode: types.BillingModePayPerRequest, KeySchema: keys("pk", "sk"),
		AttributeDefinitions: []types.AttributeDefinition{attribute("pk", "S"), attribute("sk", "S"), attribute("dsh", "S"), attribute("due", "N"),
			attribute("lp", "S"), attribute("ls", "S")},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{index("due", "dsh", "due"), index("list", "lp", "ls")},
	}
}

func keys(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
}

func attribute(name, kind string) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeType(kind)}
}

func key(pk, sk string) item { return item{"pk": &str{Value: pk}, "sk": &str{Value: sk}} }

func with(it item, more item) item {
	out := maps.Clone(it)
	maps.Copy(out, more)
	return out
}

func (r *rig) put(it item) {
	r.t.Helper()
	if _, err := r.db.PutItem(r.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: it}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) get(k item) item {
	r.t.Helper()
	out, err := r.db.GetItem(r.t.Context(), &dynamodb.GetItemInput{TableName: aws.String(table), Key: k, ConsistentRead: aws.Bool(true)})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.Item
}

// code is the error code of an answer, empty for none.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func wantCode(t *testing.T, err error, want, message string) {
	t.Helper()
	if code(err) != want || err != nil && !strings.Contains(err.Error(), message) {
		t.Errorf("answered %v, want %s with %q in it", err, want, message)
	}
}

func aliases(names string) map[string]string {
	m := map[string]string{}
	for _, n := range strings.Fields(names) {
		m["#"+n] = n
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// update runs one UpdateExpression on an item.
func (r *rig) update(ctx context.Context, k item, expression, condition, names string, values item) (*dynamodb.UpdateItemOutput, error) {
	in := &dynamodb.UpdateItemInput{TableName: aws.String(table), Key: k, ExpressionAttributeNames: aliases(names), ReturnValues: types.ReturnValueAllNew}
	if expression != "" {
		in.UpdateExpression = &expression
	}
	if condition != "" {
		in.ConditionExpression = &condition
	}
	if len(values) > 0 {
		in.ExpressionAttributeValues = values
	}
	return r.db.UpdateItem(ctx, in)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
