package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The indexes. Each is sparse: an item without its attributes is not in it.
const (
	indexDue       = "due"
	indexList      = "list"
	indexApprovals = "approvals"
)

// TTLAttribute is when DynamoDB may delete an item by itself, in seconds since the Unix epoch.
// Nothing is gone before that, and readers do not wait for it.
const TTLAttribute = attrTTL

// Schema is the table with its indexes, as tests and tools create it. The template of the stack
// says the same. The deletion of expired items is a setting of its own; see [TTLAttribute].
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
