package dormouse_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/dynamo"
)

var rightsChecks = []check{
	{"no right has a wildcard", wildcardWrongs, []breakage{
		{"Action: [dynamodb:Query]", "Action: [\"dynamodb:*\"]"},
		{"Resource: !Sub \"${Table.Arn}/index/due\"", "Resource: !Sub \"${Table.Arn}/index/*\""},
		{"Resource: !Sub \"${Table.Arn}/index/due\"", "NotResource: !GetAtt WakeQueue.Arn"},
		{"Action: sqs:SendMessage", "Action: \"*\""}}},
	{"each function has a role of its own, which writes its own log", roleWrongs, []breakage{
		{"Role: !GetAtt SweepRole.Arn", "Role: !GetAtt StepRole.Arn"},
		{"      Role: !GetAtt SweepRole.Arn\n", ""},
		{"Resource: !GetAtt SweepLogGroup.Arn", "Resource: !GetAtt StepLogGroup.Arn"}}},
	{"each function may do what it does, and nothing else", grantWrongs, []breakage{
		{"[dynamodb:GetItem, dynamodb:BatchGetItem, dynamodb:Query]", "[dynamodb:GetItem, dynamodb:BatchGetItem, dynamodb:Query, dynamodb:PutItem]"},
		{"index/due", "index/list"},
		{"Resource: [!GetAtt WakeQueue.Arn, !GetAtt IntakeQueue.Arn, !GetAtt IntakeDeadQueue.Arn]", "Resource: [!GetAtt WakeQueue.Arn, !GetAtt IntakeQueue.Arn]"},
		{"sqs:ChangeMessageVisibility, ", ""}}},
	{"what the store asks of DynamoDB is allowed to somebody, and nothing that it never asks", storeWrongs, []breakage{
		{"dynamodb:BatchGetItem, ", ""},
		{"dynamodb:BatchGetItem, ", "dynamodb:BatchGetItem, dynamodb:Scan, "}}},
}

// grants are the functions' rights: what may be done with what. An index is written with its table.
var grants = map[string][]string{
	"ApiFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:PutItem Table", "dynamodb:Query Table", "dynamodb:Query Table/index/list",
		"dynamodb:UpdateItem Table", "sqs:SendMessage WakeQueue"},
	"DecisionFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:PutItem Table", "dynamodb:Query Table",
		"dynamodb:Query Table/index/approvals", "dynamodb:UpdateItem Table", "sqs:SendMessage WakeQueue"},
	"StreamFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:Query Table"},
	"StepFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:PutItem Table", "dynamodb:Query Table", "dynamodb:UpdateItem Table",
		"sqs:ChangeMessageVisibility IntakeQueue", "sqs:ChangeMessageVisibility WakeQueue", "sqs:DeleteMessage IntakeQueue", "sqs:DeleteMessage WakeQueue",
		"sqs:GetQueueAttributes IntakeQueue", "sqs:GetQueueAttributes WakeQueue", "sqs:ReceiveMessage IntakeQueue", "sqs:ReceiveMessage WakeQueue",
		"sqs:SendMessage IntakeDeadQueue", "sqs:SendMessage IntakeQueue", "sqs:SendMessage WakeQueue"},
	"SweepFunction": {"dynamodb:Query Table/index/due", "dynamodb:UpdateItem Table", "sqs:SendMessage WakeQueue"},
}

func wildcardWrongs(t template) (wrong []string) {
	for _, kind := range []string{"AWS::IAM::Role", "AWS::SQS::QueuePolicy", "AWS::Serverless::Function"} {
		for _, r := range t.all(kind) {
			walk("", r.body, func(key string, v any) {
				if key == "NotAction" || key == "NotResource" || key == "NotPrincipal" {
					wrong = append(wrong, r.id+": "+key+" allows what nobody listed")
				}
				if key == "Action" || key == "Resource" || key == "Principal" {
					walk(key, v, func(_ string, v any) {
						if text, ok := v.(string); ok && strings.Contains(text, "*") {
							wrong = append(wrong, fmt.Sprintf("%s: %s %s; name each", r.id, key, text))
						}
					})
				}
			})
		}
	}
	return wrong
}

func (t template) roleOf(f resource) resource { return t.resource(attributeOf(f.get("Role"), "Arn")) }

func roleWrongs(t template) (wrong []string) {
	seen := map[string]bool{}
	for _, f := range t.functions() {
		role := t.roleOf(f)
		if role.body["Type"] != "AWS::IAM::Role" || seen[role.id] {
			wrong = append(wrong, f.id+" must have a role of its own")
			continue
		}
		seen[role.id] = true
		log := []string{"logs:CreateLogStream " + refOf(f.get("LoggingConfig", "LogGroup")), "logs:PutLogEvents " + refOf(f.get("LoggingConfig", "LogGroup"))}
		if have := rights(role, "logs:"); !slices.Equal(have, log) {
			wrong = append(wrong, fmt.Sprintf("%s may %v, and must %v", role.id, have, log))
		}
		if n := len(listOf(role.get("Policies"))); n != 1 {
			wrong = append(wrong, fmt.Sprintf("%s has %d policies; write one", role.id, n))
		}
	}
	return wrong
}

// rights are what a role may do that begins with one of the prefixes, sorted.
func rights(role resource, prefixes ...string) (all []string) {
	for _, policy := range listOf(role.get("Policies")) {
		for _, statement := range listOf(dig(policy, "PolicyDocument", "Statement")) {
			for _, action := range listOf(dig(statement, "Action")) {
				name := fmt.Sprint(action)
				if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
					continue
				}
				for _, on := range listOf(dig(statement, "Resource")) {
					all = append(all, name+" "+target(on))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// target is the resource that an ARN is of, with what stands behind it.
func target(v any) string {
	if id := attributeOf(v, "Arn"); id != "" {
		return id
	}
	text, _ := dig(v, "Fn::Sub").(string)
	return strings.Replace(text, "${Table.Arn}", "Table", 1)
}

func grantWrongs(t template) (wrong []string) {
	for _, f := range t.functions() {
		have := rights(t.roleOf(f), "")
		have = slices.DeleteFunc(have, func(r string) bool { return strings.HasPrefix(r, "logs:") })
		for _, r := range have {
			if !slices.Contains(grants[f.id], r) {
				wrong = append(wrong, f.id+" may "+r+", which it never does")
			}
		}
		for _, r := range grants[f.id] {
			if !slices.Contains(have, r) {
				wrong = append(wrong, f.id+" does "+r+", and may not")
			}
		}
	}
	return wrong
}

// storeWrongs compares with the methods that the store calls. A transaction is allowed by the rights of its writes. Nothing deletes.
func storeWrongs(t template) (wrong []string) {
	asked := []string{}
	for method := range reflect.TypeFor[dynamo.API]().Methods() {
		if method.Name != "TransactWriteItems" {
			asked = append(asked, "dynamodb:"+method.Name)
		}
	}
	allowed := []string{}
	for _, f := range t.functions() {
		for _, r := range rights(t.roleOf(f), "dynamodb:") {
			name, _, _ := strings.Cut(r, " ")
			allowed = append(allowed, name)
		}
	}
	slices.Sort(allowed)
	slices.Sort(asked)
	if allowed = slices.Compact(allowed); !slices.Equal(allowed, asked) {
		wrong = append(wrong, fmt.Sprintf("the functions may %v, and the store asks for %v", allowed, asked))
	}
	return wrong
}
