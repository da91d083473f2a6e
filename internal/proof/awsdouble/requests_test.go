package awsdouble_test

import (
	"fmt"
	"strings"
)

func items(n int, body func(i int) string) (rs []request) {
	for i := range n {
		rs = append(rs, request{fmt.Sprintf("item %d", i), "PutItem", `{"TableName":"runs","Item":{` + body(i) + `}}`})
	}
	return rs
}

func queryOf(name, rest string) request {
	return request{name, "Query", `{"TableName":"runs","ReturnConsumedCapacity":"INDEXES",` + rest + `}`}
}

const ofA = `"KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}`

func byKey(condition, values string) string {
	return `"KeyConditionExpression":"` + condition + `","ExpressionAttributeValues":{` + values + `}`
}

func transact(name string, actions ...string) request {
	return request{name, "TransactWriteItems", `{"ReturnConsumedCapacity":"INDEXES","TransactItems":[` + strings.Join(actions, ",") + `]}`}
}

func actOn(verb, sk, rest string) string {
	return `{"` + verb + `":{"TableName":"runs","Key":{"pk":{"S":"a"},"sk":{"S":"` + sk + `"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"` + rest + `}}`
}

func actPut(sk, rest string) string {
	return `{"Put":{"TableName":"runs","Item":{"pk":{"S":"a"},"sk":{"S":"` + sk + `"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"` + rest + `}}`
}

const absent = `,"ConditionExpression":"attribute_not_exists(pk)"`

var requestStories = []story{
	{"puts", []request{
		{"plain", "PutItem", put("")}, {"empty sort key", "PutItem", `{"TableName":"runs","Item":{"pk":{"S":"a"},"sk":{"S":""}}}`},
		{"no sort key", "PutItem", `{"TableName":"runs","Item":{"pk":{"S":"a"}}}`}, {"number as key", "PutItem", `{"TableName":"runs","Item":{"pk":{"N":"1"},"sk":{"S":"1"}}}`},
		{"long hash key", "PutItem", `{"TableName":"runs","Item":{"pk":{"S":"` + strings.Repeat("k", 2049) + `"},"sk":{"S":"1"}}}`},
		{"longest hash key", "PutItem", `{"TableName":"runs","Item":{"pk":{"S":"` + strings.Repeat("k", 2048) + `"},"sk":{"S":"1"}}}`},
		{"long sort key", "PutItem", `{"TableName":"runs","Item":{"pk":{"S":"a"},"sk":{"S":"` + strings.Repeat("k", 1025) + `"}}}`},
		{"due of another type", "PutItem", put(`,"due":{"S":"soon"}`)}, {"empty shard", "PutItem", put(`,"dsh":{"S":""},"due":{"N":"1"}`)},
		{"largest", "PutItem", put(`,"x":{"S":"` + strings.Repeat("x", 400<<10-7) + `"}`)}, {"too large", "PutItem", put(`,"x":{"S":"` + strings.Repeat("x", 400<<10-6) + `"}`)},
		{"old", "PutItem", strings.Replace(put(`,"x":{"N":"1"}`), "{", `{"ReturnValues":"ALL_OLD","ReturnConsumedCapacity":"TOTAL",`, 1)},
		{"new", "PutItem", strings.Replace(put(`,"x":{"N":"1"}`), "{", `{"ReturnValues":"ALL_NEW",`, 1)},
		{"refused with the item", "PutItem", strings.Replace(put(""), "{", `{"ConditionExpression":"attribute_not_exists(pk)","ReturnValuesOnConditionCheckFailure":"ALL_OLD",`, 1)},
		{"refused without", "PutItem", strings.Replace(put(""), "{", `{"ConditionExpression":"attribute_not_exists(pk)",`, 1)},
		{"no table", "PutItem", strings.Replace(put(""), "runs", "none", 1)}, {"empty names", "PutItem", strings.Replace(put(""), "{", `{"ExpressionAttributeNames":{},`, 1)},
		{"names without an expression", "PutItem", strings.Replace(put(""), "{", `{"ExpressionAttributeNames":{"#a":"a"},`, 1)},
		{"delete of nothing", "DeleteItem", `{"TableName":"runs","Key":{"pk":{"S":"z"},"sk":{"S":"1"}},"ReturnValues":"ALL_OLD","ReturnConsumedCapacity":"TOTAL"}`},
		{"delete", "DeleteItem", `{` + at + `,"ReturnValues":"ALL_OLD","ReturnConsumedCapacity":"TOTAL"}`}, get("after it"),
		{"get with half a key", "GetItem", `{"TableName":"runs","Key":{"pk":{"S":"a"}}}`}, {"get with too much", "GetItem", `{"TableName":"runs","Key":{"pk":{"S":"a"},"sk":{"S":"a"},"x":{"S":"a"}}}`},
		{"get of a wrong type", "GetItem", `{"TableName":"runs","Key":{"pk":{"S":"a"},"sk":{"N":"1"}}}`}, {"get of an empty key", "GetItem", `{"TableName":"runs","Key":{"pk":{"S":""},"sk":{"S":"1"}}}`},
	}},
	{"projections", []request{
		{"the item", "PutItem", put(rich)},
		projected("s, m.b.c"), projected("l[2], l[0]"), projected("l[9], nowhere"), projected("m.a, m.b"), projected("pk"), projected("s, s"), projected("m, m.a"), projected("status"), projected("m.a,"),
		{"updated new", "UpdateItem", `{` + at + `,"ReturnValues":"UPDATED_NEW","UpdateExpression":"SET m.a = :v, l[1] = :v, q = :v REMOVE n","ExpressionAttributeValues":{":v":{"N":"9"}}}`},
		{"updated old", "UpdateItem", `{` + at + `,"ReturnValues":"UPDATED_OLD","UpdateExpression":"SET m.a = :v, l[1] = :v, qq = :v REMOVE s","ExpressionAttributeValues":{":v":{"N":"8"}}}`},
		{"a new item with keys alone", "UpdateItem", `{"TableName":"runs","Key":{"pk":{"S":"new"},"sk":{"S":"1"}},"ReturnValues":"ALL_NEW"}`},
	}},
	{"queries", append(items(6, func(i int) string {
		return fmt.Sprintf(`"pk":{"S":"a"},"sk":{"S":"k%d"},"n":{"N":"%d"}`, i, i)
	}),
		queryOf("all", ofA), queryOf("strong", ofA+`,"ConsistentRead":true`), queryOf("backwards", ofA+`,"ScanIndexForward":false`), queryOf("limit", ofA+`,"Limit":2`), queryOf("limit of all", ofA+`,"Limit":6`),
		queryOf("after", ofA+`,"ExclusiveStartKey":{"pk":{"S":"a"},"sk":{"S":"k2"}}`), queryOf("after backwards", ofA+`,"ScanIndexForward":false,"ExclusiveStartKey":{"pk":{"S":"a"},"sk":{"S":"k2"}}`),
		queryOf("after what is gone", ofA+`,"ExclusiveStartKey":{"pk":{"S":"a"},"sk":{"S":"k2x"}}`), queryOf("after in another partition", ofA+`,"ExclusiveStartKey":{"pk":{"S":"b"},"sk":{"S":"k2"}}`),
		queryOf("after half a key", ofA+`,"ExclusiveStartKey":{"pk":{"S":"a"}}`), queryOf("limit nothing", ofA+`,"Limit":0`),
		queryOf("between", byKey("pk = :p AND sk BETWEEN :a AND :b", `":p":{"S":"a"},":a":{"S":"k1"},":b":{"S":"k3"}`)), queryOf("begins", byKey("pk = :p AND begins_with(sk, :a)", `":p":{"S":"a"},":a":{"S":"k"}`)),
		queryOf("greater", byKey("sk > :a AND pk = :p", `":p":{"S":"a"},":a":{"S":"k3"}`)), queryOf("in parentheses", byKey("(pk = :p) AND (sk = :a)", `":p":{"S":"a"},":a":{"S":"k3"}`)),
		queryOf("no hash", byKey("sk = :a", `":a":{"S":"k3"}`)), queryOf("hash greater", byKey("pk > :p", `":p":{"S":"a"}`)), queryOf("or", byKey("pk = :p OR pk = :a", `":p":{"S":"a"},":a":{"S":"b"}`)),
		queryOf("unequal", byKey("pk = :p AND sk <> :a", `":p":{"S":"a"},":a":{"S":"b"}`)), queryOf("not a key", byKey("pk = :p AND n = :a", `":p":{"S":"a"},":a":{"N":"1"}`)),
		queryOf("twice", byKey("pk = :p AND sk > :a AND sk < :b", `":p":{"S":"a"},":a":{"S":"b"},":b":{"S":"c"}`)), queryOf("wrong type", byKey("pk = :p AND sk = :a", `":p":{"S":"a"},":a":{"N":"1"}`)),
		queryOf("filter", `"KeyConditionExpression":"pk = :p","FilterExpression":"n >= :n","Limit":5,"ExpressionAttributeValues":{":p":{"S":"a"},":n":{"N":"3"}}`),
		queryOf("filter on the key", `"KeyConditionExpression":"pk = :p","FilterExpression":"sk > :n","ExpressionAttributeValues":{":p":{"S":"a"},":n":{"S":"3"}}`),
		queryOf("projection", ofA+`,"ProjectionExpression":"n"`), queryOf("count", ofA+`,"Select":"COUNT"`), queryOf("no index", ofA+`,"IndexName":"none"`), queryOf("nothing there", byKey("pk = :p", `":p":{"S":"zz"}`)),
	)},
	{"the index", append(items(5, func(i int) string {
		return fmt.Sprintf(`"pk":{"S":"r%d"},"sk":{"S":"#H"},"dsh":{"S":"D#0"},"due":{"N":"%d"},"x":{"S":"%s"}`, i, 100-i, strings.Repeat("x", 100))
	}),
		queryOf("due", `"IndexName":"due",`+byKey("dsh = :d AND due <= :n", `":d":{"S":"D#0"},":n":{"N":"98"}`)), queryOf("strong", `"IndexName":"due","ConsistentRead":true,`+byKey("dsh = :d", `":d":{"S":"D#0"}`)),
		queryOf("page", `"IndexName":"due","Limit":2,`+byKey("dsh = :d", `":d":{"S":"D#0"}`)), queryOf("next", `"IndexName":"due","Limit":2,"ExclusiveStartKey":{"pk":{"S":"r3"},"sk":{"S":"#H"},"dsh":{"S":"D#0"},"due":{"N":"97"}},`+byKey("dsh = :d", `":d":{"S":"D#0"}`)),
		queryOf("what is not in it", `"IndexName":"due","ProjectionExpression":"x",`+byKey("dsh = :d", `":d":{"S":"D#0"}`)), queryOf("all attributes", `"IndexName":"due","Select":"ALL_ATTRIBUTES",`+byKey("dsh = :d", `":d":{"S":"D#0"}`)),
		onHead("leave it", "REMOVE due, dsh", ""), queryOf("without", `"IndexName":"due",`+byKey("dsh = :d", `":d":{"S":"D#0"}`)), onHead("enter it", "SET due = :n, dsh = :d", `":n":{"N":"7"},":d":{"S":"D#0"}`),
		onHead("move", "SET due = :n", `":n":{"N":"8"}`), onHead("stay", "SET due = :n", `":n":{"N":"8"}`), onHead("beside it", "SET x = :n", `":n":{"N":"8"}`), queryOf("at last", `"IndexName":"due",`+byKey("dsh = :d", `":d":{"S":"D#0"}`)),
	)},
	{"pages", append(items(4, func(i int) string {
		return fmt.Sprintf(`"pk":{"S":"a"},"sk":{"S":"k%d"},"x":{"S":"%s"}`, i, strings.Repeat("x", 399<<10))
	}),
		queryOf("first", ofA+`,"ProjectionExpression":"sk"`), queryOf("second", ofA+`,"ProjectionExpression":"sk","ExclusiveStartKey":{"pk":{"S":"a"},"sk":{"S":"k2"}}`),
		request{"scan", "Scan", `{"TableName":"runs","ProjectionExpression":"sk","ReturnConsumedCapacity":"TOTAL"}`},
		request{"refused", "PutItem", `{"TableName":"runs","Item":{"pk":{"S":"a"},"sk":{"S":"k0"}}` + absent + `,"ReturnConsumedCapacity":"TOTAL"}`},
		request{"read", "GetItem", `{"TableName":"runs","Key":{"pk":{"S":"a"},"sk":{"S":"k0"}},"ProjectionExpression":"sk","ReturnConsumedCapacity":"TOTAL"}`},
		request{"smaller", "PutItem", `{"TableName":"runs","Item":{"pk":{"S":"a"},"sk":{"S":"k0"}},"ReturnConsumedCapacity":"TOTAL"}`},
	)},
	{"transactions", []request{
		{"the item", "PutItem", put(`,"n":{"N":"1"}`)},
		transact("all", actPut("2", absent), actOn("Update", "1", `,"UpdateExpression":"SET n = n + :one","ConditionExpression":"n = :one","ExpressionAttributeValues":{":one":{"N":"1"}}`), actOn("ConditionCheck", "3", absent)),
		transact("none", actPut("4", absent), actPut("2", absent), actOn("Delete", "1", `,"ConditionExpression":"n = :two","ExpressionAttributeValues":{":two":{"N":"2"}}`), actOn("ConditionCheck", "1", absent)), get("one item twice before"),
		transact("one item twice", actPut("5", ""), actOn("Delete", "5", "")), transact("a bad path", actPut("6", ""), actOn("Update", "1", `,"UpdateExpression":"SET x.y = :one","ExpressionAttributeValues":{":one":{"N":"1"}}`)),
		transact("a bad operand", actOn("Update", "1", `,"UpdateExpression":"SET q = pk + :one","ExpressionAttributeValues":{":one":{"N":"1"}}`)),
		transact("a bad expression", actPut("6", ""), actOn("Update", "1", `,"UpdateExpression":"SET x = "`)), transact("no condition", actOn("ConditionCheck", "1", "")), transact("nothing"),
		transact("101", strings.Split(strings.TrimSuffix(strings.Repeat(actPut("@", "")+"|", 101), "|"), "|")...), transact("unused", actPut("7", `,"ExpressionAttributeNames":{"#a":"a"}`)),
		{"once", "TransactWriteItems", `{"ClientRequestToken":"TOKEN","ReturnConsumedCapacity":"TOTAL","TransactItems":[` + actOn("Update", "1", `,"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}`) + `]}`},
		{"once more", "TransactWriteItems", `{"ClientRequestToken":"TOKEN","ReturnConsumedCapacity":"TOTAL","TransactItems":[` + actOn("Update", "1", `,"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}`) + `]}`},
		{"the token for another", "TransactWriteItems", `{"ClientRequestToken":"TOKEN","TransactItems":[` + actPut("8", "") + `]}`}, get("counted once"),
		{"read", "TransactGetItems", `{"ReturnConsumedCapacity":"TOTAL","TransactItems":[{"Get":{` + at + `,"ProjectionExpression":"n"}},{"Get":{"TableName":"runs","Key":{"pk":{"S":"a"},"sk":{"S":"none"}}}}]}`},
		{"read twice", "TransactGetItems", `{"TransactItems":[{"Get":{` + at + `}},{"Get":{` + at + `}}]}`},
	}},
	{"nesting", []request{
		{"32 maps", "PutItem", put(`,"x":` + nested(32))}, {"33 maps", "PutItem", put(`,"x":` + nested(33))}, {"31 maps", "PutItem", put(`,"x":` + nested(31))},
		{"a long expression", "PutItem", strings.Replace(put(""), "{", `{"ConditionExpression":"`+strings.Repeat("attribute_not_exists(xx) AND ", 200)+`attribute_exists(pk)",`, 1)},
		{"no part of a union", "PutItem", put(`,"x":{}`)}, {"an unknown type", "PutItem", put(`,"x":{"X":"1"}`)}, {"bad base64", "PutItem", put(`,"x":{"B":"?"}`)}, {"no JSON", "PutItem", `{"TableName":`},
	}},
	{"batches", []request{
		{"write", "BatchWriteItem", `{"ReturnConsumedCapacity":"TOTAL","RequestItems":{"runs":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"a"},"sk":{"S":"2"}}}}]}}`},
		{"one twice", "BatchWriteItem", `{"RequestItems":{"runs":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"a"},"sk":{"S":"1"}}}}]}}`},
		{"none", "BatchWriteItem", `{"RequestItems":{}}`}, {"26", "BatchWriteItem", `{"RequestItems":{"runs":[` + numbered(26, `{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"S":"%d"}}}}`) + `]}}`},
		{"25", "BatchWriteItem", `{"RequestItems":{"runs":[` + numbered(25, `{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"S":"%d"}}}}`) + `]}}`},
		{"read", "BatchGetItem", `{"ReturnConsumedCapacity":"TOTAL","RequestItems":{"runs":{"Keys":[{"pk":{"S":"a"},"sk":{"S":"1"}},{"pk":{"S":"a"},"sk":{"S":"none"}}],"ConsistentRead":true}}}`},
		{"read one twice", "BatchGetItem", `{"RequestItems":{"runs":{"Keys":[{"pk":{"S":"a"},"sk":{"S":"1"}},{"pk":{"S":"a"},"sk":{"S":"1"}}]}}}`},
		{"101", "BatchGetItem", `{"RequestItems":{"runs":{"Keys":[` + numbered(101, `{"pk":{"S":"a"},"sk":{"S":"%d"}}`) + `]}}}`}, {"read from nowhere", "BatchGetItem", `{"RequestItems":{"none":{"Keys":[{"pk":{"S":"a"},"sk":{"S":"1"}}]}}}`},
	}},
	{"tables", []request{
		{"again", "CreateTable", tableBody}, {"a short index name", "CreateTable", strings.NewReplacer(`"TableName":"runs"`, `"TableName":"other"`, `"IndexName":"due"`, `"IndexName":"du"`).Replace(tableBody)},
		{"an attribute too many", "CreateTable", strings.NewReplacer(`"TableName":"runs"`, `"TableName":"other"`, `{"AttributeName":"pk","AttributeType":"S"}`, `{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"q","AttributeType":"S"}`).Replace(tableBody)},
		{"a key undefined", "CreateTable", strings.NewReplacer(`"TableName":"runs"`, `"TableName":"other"`, `{"AttributeName":"due","AttributeType":"N"}`, `{"AttributeName":"q","AttributeType":"S"}`).Replace(tableBody)},
		{"a short name", "CreateTable", strings.Replace(tableBody, `"TableName":"runs"`, `"TableName":"ru"`, 1)}, {"a list as key", "CreateTable", strings.NewReplacer(`"TableName":"runs"`, `"TableName":"other"`, `"due","AttributeType":"N"`, `"due","AttributeType":"L"`).Replace(tableBody)},
		{"no billing", "CreateTable", strings.NewReplacer(`"TableName":"runs","BillingMode":"PAY_PER_REQUEST"`, `"TableName":"other"`).Replace(tableBody)},
		{"none to describe", "DescribeTable", `{"TableName":"none"}`}, {"time to live", "UpdateTimeToLive", `{"TableName":"runs","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}}`},
		{"what it is", "DescribeTimeToLive", `{"TableName":"runs"}`},
	}},
}

func projected(expression string) request {
	return request{expression, "GetItem", `{` + at + `,"ProjectionExpression":"` + expression + `"}`}
}

func onHead(name, expression, values string) request {
	body := `{"TableName":"runs","Key":{"pk":{"S":"r0"},"sk":{"S":"#H"}},"ReturnConsumedCapacity":"INDEXES","UpdateExpression":"` + expression + `"`
	if values != "" {
		body += `,"ExpressionAttributeValues":{` + values + `}`
	}
	return request{name, "UpdateItem", body + `}`}
}

func nested(n int) string {
	return strings.Repeat(`{"M":{"y":`, n) + `{"N":"1"}` + strings.Repeat("}}", n)
}

func numbered(n int, form string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(form, i))
	}
	return strings.Join(all, ",")
}
