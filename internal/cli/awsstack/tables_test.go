//go:build !noaws

package awsstack

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// The agents of other tenants are read, and the runs, where the key of one tenant is damaged.
func TestADamagedTenantStopsNoCheck(t *testing.T) {
	api := awsdouble.New(awsdouble.Options{}).DynamoDB()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := api.CreateTable(t.Context(), dynamo.Schema("table"))
	must(err)
	store := dynamo.New(api, dynamo.Options{Table: "table", Clock: machine.Clock{}, Random: machine.Random{}})
	must(store.PutDefinition(t.Context(), engine.Definition{Tenant: "zoo", Name: "desk", Digest: "d1", Body: []byte(`{"name":"desk"}`)}))
	must(store.Deploy(t.Context(), "zoo", "desk", "d1"))
	_, err = api.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("table"), Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "K#tenants"}, "sk": &types.AttributeValueMemberS{Value: "#%"}}})
	must(err)
	c := contents{store}
	if read, unread, err := c.Deployed(t.Context()); err != nil || len(read) != 1 || unread != 1 {
		t.Errorf("read %d agents, %d unread, %v", len(read), unread, err)
	}
	if read, newer, err := c.Newer(t.Context()); err != nil || read != 0 || newer != 0 {
		t.Errorf("read %d runs, %d newer, %v", read, newer, err)
	}
}
