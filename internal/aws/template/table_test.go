package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

var tableChecks = []check{
	{"the table is the one that the store is tested with", schemaWrongs, []breakage{
		{"{AttributeName: due, AttributeType: N}", "{AttributeName: due, AttributeType: S}"},
		{"{AttributeName: lp, KeyType: HASH}", "{AttributeName: ap, KeyType: HASH}"},
		{"IndexName: approvals", "IndexName: approval"},
		{"Projection: {ProjectionType: KEYS_ONLY}", "Projection: {ProjectionType: ALL}"},
		{"PAY_PER_REQUEST", "PROVISIONED"}}},
	{"what must last is backed up, encrypted and not deleted with the stack; what may go, goes", lastingWrongs, []breakage{
		{"PointInTimeRecoveryEnabled: true", "PointInTimeRecoveryEnabled: false"},
		{"SSEEnabled: true", "SSEEnabled: false"},
		{"AttributeName: ttl, Enabled: true", "AttributeName: expires, Enabled: true"},
		{"    DeletionPolicy: RetainExceptOnCreate\n", ""},
		{"    UpdateReplacePolicy: Retain\n", ""},
		{"DeletionProtectionEnabled: !If [Protected, true, false]", "DeletionProtectionEnabled: false"}}},
	{"where the stack is given a table, it makes none, and everything is about that one", givenTableWrongs, []breakage{
		{"    Condition: MakesTable\n", ""},
		{"        DORMOUSE_TABLE: !If [MakesTable, !Ref Table, !Ref ExistingTable]\n", "        DORMOUSE_TABLE: !Ref Table\n"},
		{"Value: !If [MakesTable, !Ref Table, !Ref ExistingTable]}, {Name: GlobalSecondaryIndexName, Value: due}", "Value: !Ref Table}, {Name: GlobalSecondaryIndexName, Value: due}"},
		{"table/${Name}/index/due\", {Name: !If [MakesTable, !Ref Table, !Ref ExistingTable]}", "table/${Name}/index/due\", {Name: !Ref Table}"},
		{"\"TableName\", \"${TableName}\"", "\"TableName\", \"${Table}\""}}},
}

// chosenTable is the name of the table: the stack's own, or the one that it is given.
const chosenTable = `{"Fn::If":["MakesTable",{"Ref":"Table"},{"Ref":"ExistingTable"}]}`

func givenTableWrongs(t Template) (wrong []string) {
	if t.Resource("Table").Condition() != "MakesTable" || as(t.Get("Conditions", "MakesTable")) != `{"Fn::Equals":[{"Ref":"ExistingTable"},""]}` {
		wrong = append(wrong, "the table must be made if ExistingTable is empty, and only then")
	}
	for _, section := range []string{"Globals", "Resources", "Outputs"} {
		walk("", withoutChoice("MakesTable", t.Get(section)), func(key string, v any) {
			text, is := v.(string)
			if refOf(v) == "Table" || attributeOf(v, "Arn") == "Table" || is && strings.Contains(text, "${Table") && !strings.Contains(text, "${TableName}") {
				wrong = append(wrong, fmt.Sprintf("%s: %v is about the table that the stack makes, and must be about the chosen one", section, v))
			}
		})
	}
	return wrong
}

// schemaWrongs compares with [dynamo.Schema], each as a set of lines.
func schemaWrongs(t Template) (wrong []string) {
	tables := t.All("AWS::DynamoDB::Table")
	if len(tables) != 1 || tables[0].ID != "Table" {
		return []string{"there must be one table, named Table"}
	}
	have, want := templateLines(tables[0]), schemaLines()
	for line := range have {
		if !want[line] {
			wrong = append(wrong, "the template's table has "+line+", which dynamo.Schema has not")
		}
	}
	for line := range want {
		if !have[line] {
			wrong = append(wrong, "the template's table lacks "+line)
		}
	}
	return wrong
}

func templateLines(table Resource) map[string]bool {
	lines := map[string]bool{fmt.Sprint("billing ", table.Get("BillingMode")): true}
	for _, a := range List(table.Get("AttributeDefinitions")) {
		lines[fmt.Sprint("attribute ", member(a, "AttributeName"), " ", member(a, "AttributeType"))] = true
	}
	keys := func(of string, list any) {
		for _, k := range List(list) {
			lines[fmt.Sprint("key of ", of, ": ", member(k, "AttributeName"), " ", member(k, "KeyType"))] = true
		}
	}
	keys("the table", table.Get("KeySchema"))
	for _, i := range List(table.Get("GlobalSecondaryIndexes")) {
		name := fmt.Sprint(member(i, "IndexName"))
		keys(name, member(i, "KeySchema"))
		lines[fmt.Sprint("projection of ", name, ": ", member(i, "Projection", "ProjectionType"))] = true
	}
	return lines
}

func schemaLines() map[string]bool {
	s := dynamo.Schema("any")
	lines := map[string]bool{fmt.Sprint("billing ", s.BillingMode): true}
	for _, a := range s.AttributeDefinitions {
		lines[fmt.Sprint("attribute ", *a.AttributeName, " ", a.AttributeType)] = true
	}
	keys := func(of string, list []types.KeySchemaElement) {
		for _, k := range list {
			lines[fmt.Sprint("key of ", of, ": ", *k.AttributeName, " ", k.KeyType)] = true
		}
	}
	keys("the table", s.KeySchema)
	for _, i := range s.GlobalSecondaryIndexes {
		keys(*i.IndexName, i.KeySchema)
		lines[fmt.Sprint("projection of ", *i.IndexName, ": ", i.Projection.ProjectionType)] = true
	}
	return lines
}

func lastingWrongs(t Template) (wrong []string) {
	table := t.Resource("Table")
	protection, _ := json.Marshal(table.Get("DeletionProtectionEnabled"))
	have := map[string]any{
		"PointInTimeRecoverySpecification": table.Get("PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"),
		"SSESpecification":                 table.Get("SSESpecification", "SSEEnabled"),
		"TimeToLiveSpecification":          fmt.Sprint(table.Get("TimeToLiveSpecification", "AttributeName"), table.Get("TimeToLiveSpecification", "Enabled")),
		"DeletionProtectionEnabled":        string(protection),
		"DeletionPolicy":                   table.Body["DeletionPolicy"],
		"UpdateReplacePolicy":              table.Body["UpdateReplacePolicy"],
	}
	want := map[string]any{
		"PointInTimeRecoverySpecification": true, "SSESpecification": true, "TimeToLiveSpecification": fmt.Sprint(dynamo.TTLAttribute, true),
		"DeletionProtectionEnabled": `{"Fn::If":["Protected",true,false]}`, "DeletionPolicy": "RetainExceptOnCreate", "UpdateReplacePolicy": "Retain",
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] != want[name] {
			wrong = append(wrong, fmt.Sprintf("the table's %s is %v, and must be %v", name, have[name], want[name]))
		}
	}
	return wrong
}
