package awsdouble_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

func TestUnitsAreWhatDynamoDBBills(t *testing.T) {
	big := func(n int) item { return item{"x": &str{Value: strings.Repeat("x", n)}} }
	due := func(shard, at string) item { return item{"dsh": &str{Value: shard}, "due": &num{Value: at}} }
	ctx := t.Context()
	update := func(expression string, values item) func(*rig) {
		return func(r *rig) {
			if _, err := r.update(ctx, key("a", "1"), expression, "", "", values); err != nil {
				t.Error(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		had  item // nil for none
		do   func(*rig)
		want awsdouble.Units
	}{
		{"put of 1 KB less the rest", nil, func(r *rig) { r.put(with(key("a", "1"), big(1024-7))) }, awsdouble.Units{Write: 1}},
		{"put of a byte more", nil, func(r *rig) { r.put(with(key("a", "1"), big(1024-6))) }, awsdouble.Units{Write: 2}},
		{"put over something larger", big(5000), func(r *rig) { r.put(key("a", "1")) }, awsdouble.Units{Write: 5}},
		{"update that makes it smaller", big(5000), update("REMOVE x", nil), awsdouble.Units{Write: 5}},
		{"a refused write", big(3000), func(r *rig) {
			_, err := r.update(ctx, key("a", "1"), "REMOVE x", "attribute_not_exists(pk)", "", nil)
			wantCode(t, err, "ConditionalCheckFailedException", "")
		}, awsdouble.Units{Write: 3}},
		{"an invalid write", big(3000), func(r *rig) {
			_, err := r.update(ctx, key("a", "1"), "SET x = ", "", "", nil)
			wantCode(t, err, "ValidationException", "")
		}, awsdouble.Units{}},
		{"a strong read", big(5000), func(r *rig) { r.get(key("a", "1")) }, awsdouble.Units{Read: 2}},
		{"a read of nothing", nil, func(r *rig) { r.get(key("a", "1")) }, awsdouble.Units{Read: 1}},
		{"into the index", item{}, update("SET dsh = :d, due = :n", item{":d": &str{Value: "D#0"}, ":n": &num{Value: "1"}}), awsdouble.Units{Write: 1, IndexWrite: 1}},
		{"out of the index", due("D#0", "1"), update("REMOVE due", nil), awsdouble.Units{Write: 1, IndexWrite: 1}},
		{"another place in the index", due("D#0", "1"), update("SET due = :n", item{":n": &num{Value: "2"}}), awsdouble.Units{Write: 1, IndexWrite: 2}},
		{"the same place in the index", due("D#0", "1"), update("SET due = :n, x = :n", item{":n": &num{Value: "1.0"}}), awsdouble.Units{Write: 1}},
		{"a put of the same", due("D#0", "1"), func(r *rig) { r.put(with(key("a", "1"), due("D#0", "1"))) }, awsdouble.Units{Write: 1}},
		{"a transaction", item{}, transaction(t, "attribute_exists(pk)", ""), awsdouble.Units{Write: 4}},
		{"a cancelled transaction", item{}, transaction(t, "attribute_not_exists(pk)", "TransactionCanceledException"), awsdouble.Units{Write: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			if c.had != nil {
				r.put(with(key("a", "1"), c.had))
			}
			r.d.ResetCounts()
			c.do(r)
			if diff := cmp.Diff(c.want, r.d.Units()); diff != "" {
				t.Error("units (-want +got):", diff)
			}
		})
	}
}

// transaction writes two items, one of them under the condition.
func transaction(t *testing.T, condition, want string) func(*rig) {
	return func(r *rig) {
		_, err := r.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: aws.String(table), Item: key("b", "1")}},
			{Update: &types.Update{TableName: aws.String(table), Key: key("a", "1"), UpdateExpression: aws.String("SET n = :n"), ConditionExpression: &condition,
				ExpressionAttributeValues: item{":n": &num{Value: "1"}}}}}})
		wantCode(t, err, want, "")
	}
}

func TestRequestsAreCountedByOperation(t *testing.T) {
	r := newRig(t)
	r.d.ResetCounts()
	r.d.Fail(once("UpdateItem", awsdouble.Throttle()))
	if err := r.bump(r.db); err != nil {
		t.Fatal(err)
	}
	r.n()
	if diff := cmp.Diff(map[string]int{"UpdateItem": 2, "GetItem": 1}, r.d.Requests()); diff != "" {
		t.Error("requests (-want +got):", diff)
	}
}

func TestWhatIsPastItsTimeGoesWhenTold(t *testing.T) {
	r := newRig(t)
	_, err := r.db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: aws.String(table),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)}})
	if err != nil {
		t.Fatal(err)
	}
	r.put(with(key("old", "1"), item{"ttl": &num{Value: "1800000001"}}))
	r.put(with(key("young", "1"), item{"ttl": &num{Value: "1800000009"}}))
	r.put(with(key("odd", "1"), item{"ttl": &str{Value: "1"}}))
	r.now = r.now.Add(5 * time.Second)
	if r.get(key("old", "1")) == nil {
		t.Error("an item went by itself")
	}
	if n := r.d.Expire(); n != 1 || r.get(key("old", "1")) != nil || r.get(key("young", "1")) == nil {
		t.Errorf("%d items expired", n)
	}
}
