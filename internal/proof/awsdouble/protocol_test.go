package awsdouble_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var values = cmpopts.IgnoreUnexported(str{}, num{}, obj{}, list{}, yes{}, strs{}, nums{})

func TestReservedWordsNeedAnAlias(t *testing.T) {
	r := newRig(t)
	for _, word := range []string{"end", "out", "int", "status", "Name", "ttl", "at", "zone", "abort"} {
		_, err := r.update(t.Context(), key("a", "1"), "REMOVE "+word, "", "", nil)
		wantCode(t, err, "ValidationException", "reserved keyword: "+word)
		if _, err := r.update(t.Context(), key("a", "1"), "REMOVE #"+word, "", word, nil); err != nil {
			t.Error(err)
		}
	}
	for _, word := range []string{"epoch", "lease", "claim", "rev", "sigs", "inbox", "dsh"} {
		if _, err := r.update(t.Context(), key("a", "1"), "REMOVE "+word, "", "", nil); err != nil {
			t.Error(err)
		}
	}
}

func TestAHeadIsClaimedOnceAndItsLoserIsToldWhy(t *testing.T) {
	r := newRig(t)
	r.put(with(key("T#a", "#H"), item{"epoch": &num{Value: "1"}, "st": &str{Value: "created"}, "inbox": &obj{Value: item{}}}))
	claim := func(id string) (*dynamodb.UpdateItemOutput, error) {
		return r.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table), Key: key("T#a", "#H"),
			UpdateExpression: aws.String("SET #epoch = #epoch + :1, #lease = :end, #claim = :c"),
			ConditionExpression: aws.String("attribute_exists(pk) AND (attribute_not_exists(#lease) OR #lease < :now) AND " +
				"(attribute_not_exists(#claim) OR #claim <> :c) AND (#st IN (:created) AND size(#inbox) >= :0)"),
			ExpressionAttributeNames: aliases("epoch lease claim st inbox"),
			ExpressionAttributeValues: item{":1": &num{Value: "1"}, ":0": &num{Value: "0"}, ":c": &str{Value: id}, ":now": &num{Value: "50"},
				":end": &num{Value: "100"}, ":created": &str{Value: "created"}},
			ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
	}
	won, err := claim("one")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&num{Value: "2"}, won.Attributes["epoch"], values); diff != "" {
		t.Error("epoch of the winner (-want +got):", diff)
	}
	_, err = claim("two")
	var refused *types.ConditionalCheckFailedException
	if !errors.As(err, &refused) {
		t.Fatalf("the second claim was answered %v", err)
	}
	if diff := cmp.Diff(&str{Value: "one"}, refused.Item["claim"], values); diff != "" {
		t.Error("claim that the loser is shown (-want +got):", diff)
	}
}
