package awsdouble_test

import "strings"

const tableBody = `{"TableName":"runs","BillingMode":"PAY_PER_REQUEST",
	"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
	"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},
		{"AttributeName":"dsh","AttributeType":"S"},{"AttributeName":"due","AttributeType":"N"}],
	"GlobalSecondaryIndexes":[{"IndexName":"due","KeySchema":[{"AttributeName":"dsh","KeyType":"HASH"},{"AttributeName":"due","KeyType":"RANGE"}],
		"Projection":{"ProjectionType":"KEYS_ONLY"}}]}`

type story struct {
	name     string
	requests []request
}

func put(attributes string) string {
	return `{"TableName":"runs","Item":{"pk":{"S":"a"},"sk":{"S":"1"}` + attributes + `}}`
}

const at = `"TableName":"runs","Key":{"pk":{"S":"a"},"sk":{"S":"1"}}`

// update is an UpdateItem of one item: expression, condition, names as #x=name, values as JSON.
func change(name, expression, condition, names, values string) request {
	body := at + `,"ReturnValues":"ALL_NEW","ReturnValuesOnConditionCheckFailure":"ALL_OLD"`
	if expression != "" {
		body += `,"UpdateExpression":"` + expression + `"`
	}
	if condition != "" {
		body += `,"ConditionExpression":"` + condition + `"`
	}
	if names != "" {
		var parts []string
		for _, n := range strings.Fields(names) {
			alias, name, _ := strings.Cut(n, "=")
			parts = append(parts, `"`+alias+`":"`+name+`"`)
		}
		body += `,"ExpressionAttributeNames":{` + strings.Join(parts, ",") + `}`
	}
	if values != "" {
		body += `,"ExpressionAttributeValues":{` + values + `}`
	}
	return request{name, "UpdateItem", "{" + body + "}"}
}

const rich = `,"n":{"N":"5"},"s":{"S":"hello"},"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"S":"x"}]},"m":{"M":{"a":{"N":"1"},"b":{"M":{"c":{"S":"deep"}}}}},
	"ss":{"SS":["a","b"]},"ns":{"NS":["1","2"]},"yes":{"BOOL":true},"nil":{"NULL":true},"b":{"B":"AQI="},"empty":{"S":""},"em":{"M":{}},"el":{"L":[]}`

func get(name string) request { return request{name, "GetItem", `{` + at + `,"ConsistentRead":true}`} }

// conditions runs each condition on one rich item; those that hold change nothing.
func conditions(all ...string) (rs []request) {
	rs = append(rs, request{"the item", "PutItem", put(rich)})
	for _, c := range all {
		condition, values, _ := strings.Cut(c, " | ")
		rs = append(rs, change(c, "", condition, "", values))
	}
	return rs
}

// updates runs each update on a fresh rich item and looks at it.
func updates(all ...string) (rs []request) {
	for _, u := range all {
		expression, values, _ := strings.Cut(u, " | ")
		rs = append(rs, request{"before " + u, "PutItem", put(rich)}, change(u, expression, "", "", values))
	}
	return append(rs, get("what is left"))
}

// stories are run by every comparison; each begins with an empty table.
var stories = append(expressionStories, requestStories...)

var expressionStories = []story{
	{"conditions", conditions(
		"attribute_exists(pk)", "attribute_not_exists(pk)", "attribute_exists(m.b.c)", "attribute_not_exists(m.b.d)", "attribute_exists(l[3])", "attribute_exists(l[4])",
		`n = :v | ":v":{"N":"5.0"}`, `n = :v | ":v":{"S":"5"}`, `n <> :v | ":v":{"S":"5"}`, `nowhere <> :v | ":v":{"S":"5"}`, `nowhere = :v | ":v":{"S":"5"}`,
		`n < :v | ":v":{"N":"6"}`, `n < :v | ":v":{"S":"6"}`, `n >= :v | ":v":{"N":"5"}`, `s > :v | ":v":{"S":"hella"}`, `nowhere < :v | ":v":{"N":"5"}`,
		`n BETWEEN :a AND :b | ":a":{"N":"5"},":b":{"N":"9"}`, `n BETWEEN :a AND :b | ":a":{"N":"9"},":b":{"N":"5"}`, `n BETWEEN :a AND :b | ":a":{"N":"9"},":b":{"S":"5"}`,
		`n IN (:a, :b) | ":a":{"N":"5"},":b":{"N":"9"}`, `nowhere IN (:a) | ":a":{"N":"5"}`, `s IN (:a, :b) | ":a":{"N":"5"},":b":{"S":"9"}`,
		`begins_with(s, :p) | ":p":{"S":"hell"}`, `begins_with(n, :p) | ":p":{"S":"5"}`, `begins_with(s, :p) | ":p":{"N":"5"}`,
		`contains(s, :p) | ":p":{"S":"ell"}`, `contains(l, :p) | ":p":{"N":"2"}`, `contains(ss, :p) | ":p":{"S":"a"}`, `contains(ns, :p) | ":p":{"N":"2.0"}`, `contains(ss, :p) | ":p":{"N":"1"}`,
		`attribute_type(m, :t) | ":t":{"S":"M"}`, `attribute_type(m, :t) | ":t":{"S":"X"}`, `attribute_type(m, :t) | ":t":{"N":"1"}`,
		`size(s) = :n | ":n":{"N":"5"}`, `size(l) > :n | ":n":{"N":"3"}`, `size(m) = :n | ":n":{"N":"2"}`, `size(em) = :n | ":n":{"N":"0"}`, `size(b) = :n | ":n":{"N":"2"}`,
		`size(ss) = :n | ":n":{"N":"2"}`, `size(n) = :n | ":n":{"N":"1"}`, `size(nowhere) = :n | ":n":{"N":"1"}`, `size(nowhere) <> :n | ":n":{"N":"1"}`, `:n > size(l) | ":n":{"N":"5"}`,
		`NOT n = :v | ":v":{"N":"6"}`, `n = :a OR n = :b AND s = :c | ":a":{"N":"5"},":b":{"N":"0"},":c":{"S":"no"}`,
		`(n = :a OR n = :b) AND s = :c | ":a":{"N":"5"},":b":{"N":"0"},":c":{"S":"no"}`, `NOT n = :a AND s = :c | ":a":{"N":"6"},":c":{"S":"no"}`,
		`NOT (n = :a AND s = :c) | ":a":{"N":"6"},":c":{"S":"no"}`, `((n = :a)) | ":a":{"N":"5"}`, `(n = :a) | ":a":{"N":"5"}`, `((n = :a) AND (n = :a)) | ":a":{"N":"5"}`,
		`(attribute_not_exists(x) OR x < :v) AND (attribute_not_exists(y) OR y <> :v) | ":v":{"N":"1"}`,
		`n = n`, `n > n`, `m.a = l[1]`, `m = :m | ":m":{"M":{"a":{"N":"1.0"},"b":{"M":{"c":{"S":"deep"}}}}}`, `ss = :s | ":s":{"SS":["b","a"]}`, `yes = :t | ":t":{"BOOL":true}`,
		`yes < :t | ":t":{"BOOL":true}`, `m > :m | ":m":{"M":{}}`, `status = :v | ":v":{"N":"5"}`, `end = :v | ":v":{"N":"5"}`, `n = :unset | ":v":{"N":"5"}`, `#n = :v | ":v":{"N":"5"}`,
		`n = :v | ":v":{"N":"5"},":w":{"N":"5"}`, `n =`, `n = :v AND | ":v":{"N":"5"}`, `n == :v | ":v":{"N":"5"}`, `size(n)`, `attribute_exists(:v) | ":v":{"N":"5"}`, `unheard(n)`,
		`attribute_exists(pk, sk)`, `n = :v and s = :w | ":v":{"N":"5"},":w":{"S":"hello"}`, `Attribute_Exists(pk)`, ` `, `contains(n, n)`, `begins_with(s, s)`, `n BETWEEN n AND n`,
		`_n = :v | ":v":{"N":"5"}`, `n = :v) | ":v":{"N":"5"}`, `s = :e | ":e":{"S":""}`, `empty = :e | ":e":{"S":""}`, `l[0].a = :v | ":v":{"N":"5"}`, `m.a.b = :v | ":v":{"N":"5"}`,
		`nil = :v | ":v":{"NULL":true}`, `b > :v | ":v":{"B":"AQE="}`,
	)},
	{"updates", updates(
		`SET n = :v | ":v":{"N":"6"}`, `SET n = n + :v | ":v":{"N":"0.1"}`, `SET n = n - :v | ":v":{"N":"7"}`, `SET n = :v - n | ":v":{"N":"7"}`, `SET x = n + n`, `SET x = nowhere + :v | ":v":{"N":"7"}`,
		`SET x = if_not_exists(x, :v) + :v | ":v":{"N":"7"}`, `SET x = if_not_exists(n, :v) | ":v":{"N":"7"}`, `SET x = s + :v | ":v":{"N":"7"}`, `SET x = :v + :w | ":v":{"N":"7"},":w":{"S":"a"}`,
		`SET l = list_append(l, :v) | ":v":{"L":[{"N":"9"}]}`, `SET l = list_append(:v, l) | ":v":{"L":[{"N":"9"}]}`, `SET x = list_append(if_not_exists(x, :v), :v) | ":v":{"L":[{"N":"9"}]}`,
		`SET l = list_append(l, :v) | ":v":{"N":"9"}`, `SET l[1] = :v | ":v":{"N":"9"}`, `SET l[99] = :v | ":v":{"N":"9"}`, `SET l[99] = :v, l[50] = :w | ":v":{"N":"9"},":w":{"N":"8"}`,
		`SET m.a = :v | ":v":{"N":"9"}`, `SET m.new = :v | ":v":{"N":"9"}`, `SET m.b.c = :v, m.a = :v | ":v":{"N":"9"}`, `SET x.a = :v | ":v":{"N":"9"}`, `SET m.x.a = :v | ":v":{"N":"9"}`,
		`SET s.a = :v | ":v":{"N":"9"}`, `SET s[0] = :v | ":v":{"N":"9"}`, `SET l.a = :v | ":v":{"N":"9"}`, `SET m[0] = :v | ":v":{"N":"9"}`, `SET em.k = :v | ":v":{"M":{"q":{"N":"1"}}}`,
		`REMOVE n`, `REMOVE nowhere`, `REMOVE m.a, m.b`, `REMOVE m.nowhere`, `REMOVE x.y`, `REMOVE l[0], l[2]`, `REMOVE l[9]`, `REMOVE s.a`, `REMOVE m.b.c`, `REMOVE m.x.y`,
		`ADD n :v | ":v":{"N":"1.5"}`, `ADD x :v | ":v":{"N":"1.5"}`, `ADD ss :v | ":v":{"SS":["b","c"]}`, `ADD x :v | ":v":{"SS":["b","c"]}`, `ADD ss :v | ":v":{"NS":["1"]}`, `ADD s :v | ":v":{"N":"1"}`,
		`ADD l :v | ":v":{"L":[]}`, `ADD m.a :v | ":v":{"N":"1"}`, `ADD n :v | ":v":{"S":"1"}`, `DELETE ss :v | ":v":{"SS":["a"]}`, `DELETE ss :v | ":v":{"SS":["a","b"]}`, `DELETE ss :v | ":v":{"SS":["z"]}`,
		`DELETE x :v | ":v":{"SS":["z"]}`, `DELETE ss :v | ":v":{"S":"a"}`, `DELETE ss :v | ":v":{"NS":["1"]}`, `DELETE n :v | ":v":{"SS":["1"]}`,
		`SET x = :v REMOVE n ADD y :v DELETE ss :d | ":v":{"N":"1"},":d":{"SS":["a"]}`, `SET x = :v SET y = :v | ":v":{"N":"1"}`, `SET n = :v, n = :v | ":v":{"N":"1"}`, `SET m = :v, m.a = :v | ":v":{"N":"1"}`,
		`SET m.a = :v REMOVE m | ":v":{"N":"1"}`, `SET m.a = :v, m[0] = :v | ":v":{"N":"1"}`, `SET pk = :v | ":v":{"S":"b"}`, `REMOVE sk`, `SET x = l`, `SET x = m.b`, `SET x = n, n = s`, `set n = :v | ":v":{"N":"1"}`,
		`SET n :v | ":v":{"N":"1"}`, `SET`, `n = :v | ":v":{"N":"1"}`, `SET status = :v | ":v":{"N":"1"}`, `SET x = size(s)`, `SET x = :v + :v + :v | ":v":{"N":"1"}`, `SET x = (:v) | ":v":{"N":"1"}`,
		`SET x = if_not_exists(:v, :v) | ":v":{"N":"1"}`, `SET due = :v | ":v":{"S":"1"}`, `SET dsh = :v | ":v":{"S":""}`, `SET dsh = :v, due = :w | ":v":{"S":"D#0"},":w":{"N":"5"}`, `SET x = :v | ":v":{"S":""}`,
		`SET n = n + :v | ":v":{"N":"1E125"}`, `SET x = :v | ":v":{"N":"1E126"}`, `SET x = :v | ":v":{"N":"-1E-130"}`, `SET x = :v | ":v":{"N":"1E-131"}`, `SET x = :v | ":v":{"N":"99999999999999999999999999999999999999"}`,
		`SET x = :v | ":v":{"N":"999999999999999999999999999999999999999"}`, `SET x = :v | ":v":{"N":"001.500"}`, `SET x = :v | ":v":{"N":"abc"}`, `SET x = :v | ":v":{"N":""}`, `SET x = :v | ":v":{"N":"-0"}`,
		`SET x = :v | ":v":{"N":"1.5E3"}`, `SET x = :v | ":v":{"N":"0.000123"}`, `SET x = :v | ":v":{"SS":[]}`, `SET x = :v | ":v":{"SS":["a","a"]}`, `SET x = :v | ":v":{"NULL":false}`, `SET x = :v | ":v":{"NS":["1","1.0"]}`,
		`SET x = :v | ":v":{}`, `SET x = :v | ":v":{"S":"a","N":"1"}`, `SET x = :v, y = :w | ":v":{"N":"1"}`,
	)},
}
