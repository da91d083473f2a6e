package dynamo_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// A copy of a write that was sent when an agent was deployed lands when another version is, or
// none.
func TestALateCopyOfADeployBringsNothingBack(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	store := quick(t, d)
	for _, digest := range []string{"v1", "v2"} {
		must(t, store.PutDefinition(t.Context(), engine.Definition{Tenant: "acme", Name: "desk", Digest: digest, Body: []byte(`{}`)}))
	}
	copied := func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "UpdateItem" || c.Operation == "PutItem" {
			return awsdouble.Copy()
		}
		return awsdouble.Fault{}
	}
	d.Fail(copied)
	must(t, store.Deploy(t.Context(), "acme", "desk", "v1"))
	d.Fail(nil)
	must(t, store.Deploy(t.Context(), "acme", "desk", "v2"))
	d.Release()
	if now, err := store.Current(t.Context(), "acme", "desk"); err != nil || now.Digest != "v2" {
		t.Errorf("deployed is %q, %v", now.Digest, err)
	}
	d.Fail(copied)
	must(t, store.Deploy(t.Context(), "acme", "desk", "v1"))
	d.Fail(nil)
	must(t, store.Undeploy(t.Context(), "acme", "desk"))
	d.Release()
	if now, err := store.Current(t.Context(), "acme", "desk"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("deployed is %q, %v", now.Digest, err)
	}
	if all, err := store.Deployed(t.Context(), "acme"); err != nil || len(all) != 0 {
		t.Errorf("listed are %v, %v", all, err)
	}
}

// An operator takes the last key out, and not the item: links made before are no good, and the next
// one has a key.
func TestAnEmptyListOfLinkKeysIsFilled(t *testing.T) {
	t.Parallel()
	s := onDouble(newDouble(t))
	client, table := s.client(), s.table(t)
	store := s.store(t, client, table, nil)
	before, err := store.LinkKeys(t.Context())
	must(t, err)
	_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "K#links"}, "sk": &types.AttributeValueMemberS{Value: "#"}, "keys": &types.AttributeValueMemberL{}}})
	must(t, err)
	after, err := store.LinkKeys(t.Context())
	if err != nil || len(after) != 1 || string(after[0]) == string(before[0]) {
		t.Errorf("%d keys, %v", len(after), err)
	}
}
