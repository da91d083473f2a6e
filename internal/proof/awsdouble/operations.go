package awsdouble

import (
	"bytes"
	"encoding/json"
	"strings"
)

type operation func(*Double, *call) (any, error)

// operations is everything the double knows to do.
var operations = map[string]map[string]operation{
	serviceDynamoDB: {
		"CreateTable": op((*Double).createTable), "DescribeTable": op((*Double).describeTable), "DeleteTable": op((*Double).deleteTable),
		"ListTables": op((*Double).listTables), "UpdateTimeToLive": op((*Double).updateTimeToLive), "DescribeTimeToLive": op((*Double).describeTimeToLive),
		"UpdateContinuousBackups": op((*Double).updateContinuousBackups), "DescribeContinuousBackups": op((*Double).describeContinuousBackups),
		"GetItem": op((*Double).getItem), "PutItem": op((*Double).putItem), "UpdateItem": op((*Double).updateItem), "DeleteItem": op((*Double).deleteItem),
		"Query": op((*Double).query), "Scan": op((*Double).scan), "BatchGetItem": op((*Double).batchGet), "BatchWriteItem": op((*Double).batchWrite),
		"TransactWriteItems": op((*Double).transactWrite), "TransactGetItems": op((*Double).transactGet),
	},
	serviceSQS: {
		"CreateQueue": op((*Double).createQueue), "GetQueueUrl": op((*Double).getQueueURL), "DeleteQueue": op((*Double).deleteQueue),
		"ListQueues": op((*Double).listQueues), "PurgeQueue": op((*Double).purgeQueue), "GetQueueAttributes": op((*Double).getAttributes),
		"SetQueueAttributes": op((*Double).setAttributes), "SendMessage": op((*Double).sendMessage), "SendMessageBatch": op((*Double).sendBatch),
		"ReceiveMessage": op((*Double).receiveMessage), "DeleteMessage": op((*Double).deleteMessage), "DeleteMessageBatch": op((*Double).deleteBatch),
		"ChangeMessageVisibility": op((*Double).changeVisibility), "ChangeMessageVisibilityBatch": op((*Double).changeBatch),
	},
}

func op[In any](f func(*Double, *call, *In) (any, error)) operation {
	return func(d *Double, c *call) (any, error) {
		in := new(In)
		if err := decode(c.body, in); err != nil {
			return nil, err
		}
		return f(d, c, in)
	}
}

// decode reads a request. A parameter that the double does not know is refused, as it may change
// what is asked.
func decode(body []byte, into any) error {
	r := json.NewDecoder(bytes.NewReader(body))
	r.DisallowUnknownFields()
	err := r.Decode(into)
	if err == nil {
		return nil
	}
	if _, field, ok := strings.Cut(err.Error(), "json: unknown field "); ok {
		return unknown("parameter %s", field)
	}
	return err
}
