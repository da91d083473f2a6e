package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The indexes. Each is sparse: it contains only items with its attributes.
const (
	indexDue       = "due"
	indexList      = "list"
	indexApprovals = "approvals"
)

// TTLAttribute is the time after which DynamoDB may delete an item, in seconds since the Unix
// epoch. DynamoDB deletes nothing earlier, and readers do not depend on the deletion.
const TTLAttribute = attrTTL

// Schema returns the definition of the table and its indexes, for tests and tools. It matches the
// template of the stack. The deletion of expired items is a separate setting; see [TTLAttribute].
func Schema(table string) *dynamodb.CreateTableInput {
	text, number := types.ScalarAttributeTypeS, types.ScalarAttributeTypeN
	return &dynamodb.CreateTableInput{
		TableName:   &table,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			define(attrPK, text), define(attrSK, text), define(attrShard, text), define(attrDue, number),
			define(attrListPK, text), define(attrListSK, text), define(attrApprovalsPK, text), define(attrApprovalsSK, text),
		},
		KeySchema: keySchema(attrPK, attrSK),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			keysOnly(indexDue, attrShard, attrDue),
			keysOnly(indexList, attrListPK, attrListSK),
			keysOnly(indexApprovals, attrApprovalsPK, attrApprovalsSK),
		},
	}
}

func define(name string, of types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: &name, AttributeType: of}
}

func keySchema(hash, order string) []types.KeySchemaElement {
	return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &order, KeyType: types.KeyTypeRange}}
}

func keysOnly(name, hash, order string) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{IndexName: aws.String(name), KeySchema: keySchema(hash, order),
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}}
}
