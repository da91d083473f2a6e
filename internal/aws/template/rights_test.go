package template

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

var rightsChecks = []check{
	{"no right has a wildcard", wildcardWrongs, []breakage{
		{"Action: [dynamodb:Query]", "Action: [\"dynamodb:*\"]"},
		{"table/${Name}/index/due\"", "table/${Name}/index/*\""},
		{"Resource: !Sub [\"arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${Name}/index/due\", {Name: !If [MakesTable, !Ref Table, !Ref ExistingTable]}]", "NotResource: !GetAtt WakeQueue.Arn"},
		{"parameter${SecretsPath}*", "parameter/*"},
		{"parameter${SecretsPath}SLACK_*", "parameter${SecretsPath}S*"},
		{"Resource: !Sub \"${StepFunction.Arn}:*\"", "Resource: !Sub \"${StepFunction.Arn}*\""},
		{"deploymentgroup:${ServerlessDeploymentApplication}/*", "deploymentgroup:*"},
		{"Resource: !Ref ToolFunctions", "Resource: \"*\""},
		{"kms:GenerateDataKeyWithoutPlaintext", "kms:GenerateDataKey*"},
		{"Action: sqs:SendMessage", "Action: \"*\""}}},
	{"each function has a role of its own, which writes its own log", roleWrongs, []breakage{
		{"Role: !GetAtt SweepRole.Arn", "Role: !GetAtt StepRole.Arn"},
		{"      Role: !GetAtt SweepRole.Arn\n", ""},
		{"Resource: !GetAtt SweepLogGroup.Arn", "Resource: !GetAtt StepLogGroup.Arn"}}},
	{"each function may do what it does, and nothing else", grantWrongs, []breakage{
		{"[dynamodb:GetItem, dynamodb:BatchGetItem, dynamodb:Query]", "[dynamodb:GetItem, dynamodb:BatchGetItem, dynamodb:Query, dynamodb:DeleteItem]"},
		{"index/due", "index/list"},
		{"!GetAtt IntakeQueue.Arn, !GetAtt IntakeDeadQueue.Arn]", "!GetAtt IntakeQueue.Arn]"},
		{"dynamodb:UpdateItem, dynamodb:DeleteItem]", "dynamodb:UpdateItem]"},
		{"[lambda:GetFunctionConcurrency]", "[lambda:PutFunctionConcurrency]"},
		{"[!GetAtt WakeQueue.Arn, !GetAtt NotifyQueue.Arn]", "!GetAtt WakeQueue.Arn"},
		{"- Effect: Deny\n", "- Effect: Allow\n"},
		{"                    - !Sub \"arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter${SecretsPath}OIDC_CLIENT_SECRET\"\n", ""},
		{"sqs:ChangeMessageVisibility, ", ""}}},
	{"what is beyond the stack may be reached where a parameter names it, and not by default", reachWrongs, []breakage{
		{"                - InvokesFunctions\n", "                - AsksBedrock\n"},
		{"  InvokesFunctions: !Not [!Equals [!Join [\"\", !Ref ToolFunctions], \"\"]]", "  InvokesFunctions: !Equals [!Join [\"\", !Ref ToolFunctions], \"\"]"},
		{"                - ReadsSecrets\n", "                - HasSecretsKey\n"},
		{"{StringEquals: {kms:ViaService: !Sub \"ssm.${AWS::Region}.amazonaws.com\"}}", "{StringEquals: {aws:RequestedRegion: !Ref AWS::Region}}"},
		{"    AllowedPattern: \"(/([A-Za-z0-9_.-]+/)+)?\"\n", "    AllowedPattern: \"/.*\"\n"},
		{"                - HasEventBus\n", "                - HasNoticeTopic\n"},
		{"                - SendsMail\n", "                - HasNoticeTopic\n"},
		{"{StringEquals: {ses:FromAddress: !Ref NoticeMailFrom}}", "{StringEquals: {ses:FromAddress: !Ref NoticeMailIdentity}}"},
		{"([A-Za-z0-9._+-]+@)?[A-Za-z0-9.-]+", ".*"},
		{"[A-Za-z0-9/_.-]{0,256}", ".*"},
		{"[^ ]+", ".*"}}},
	{"tests of versions reach no item of a caller", tenantWrongs, []breakage{
		{"?#Dormouse-pretraffic#*", "?#*"},
		{"                Condition: {\"ForAllValues:StringLike\": {dynamodb:LeadingKeys: [\"?#Dormouse-pretraffic#*\"]}}\n", ""}}},
	{"what the store asks of DynamoDB is allowed to somebody, and nothing that it never asks", storeWrongs, []breakage{
		{"dynamodb:BatchGetItem, ", ""},
		{"dynamodb:BatchGetItem, ", "dynamodb:BatchGetItem, dynamodb:Scan, "}}},
}

// grants are the functions' rights: what may be done with what. An index is written with its table.
var grants = map[string][]string{
	"ApiFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:PutItem Table", "dynamodb:Query Table",
		"dynamodb:Query Table/index/approvals", "dynamodb:Query Table/index/list", "dynamodb:UpdateItem Table", "dynamodb:DeleteItem Table",
		"sqs:SendMessage NotifyQueue", "sqs:SendMessage WakeQueue"},
	"DecisionFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:PutItem Table", "dynamodb:Query Table",
		"dynamodb:Query Table/index/approvals", "dynamodb:UpdateItem Table", "sqs:SendMessage WakeQueue", "ssm:GetParameter " + signInParameter, "kms:Decrypt SecretsKeyArn", "ses:SendEmail " + mailIdentity},
	"HookFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:PutItem Table", "dynamodb:Query Table", "dynamodb:Query Table/index/approvals",
		"dynamodb:Query Table/index/list", "dynamodb:UpdateItem Table", "sqs:SendMessage WakeQueue", "ssm:GetParameter " + hookParameters,
		"ssm:GetParameter " + slackParameters, "kms:Decrypt SecretsKeyArn"},
	"ConsoleFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:PutItem Table", "dynamodb:Query Table", "dynamodb:Query Table/index/approvals",
		"dynamodb:Query Table/index/list", "dynamodb:UpdateItem Table", "dynamodb:DeleteItem Table", "sqs:SendMessage NotifyQueue", "sqs:SendMessage WakeQueue", "ssm:GetParameter " + signInParameter, "kms:Decrypt SecretsKeyArn"},
	"StreamFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:PutItem Table", "dynamodb:Query Table", "dynamodb:Query Table/index/approvals",
		"dynamodb:Query Table/index/list"},
	"StepFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:PutItem Table", "dynamodb:Query Table", "dynamodb:Query Table/index/list",
		"dynamodb:UpdateItem Table", "sqs:ChangeMessageVisibility WakeQueue", "sqs:DeleteMessage WakeQueue", "sqs:GetQueueAttributes WakeQueue", "sqs:ReceiveMessage WakeQueue",
		"sqs:SendMessage NotifyQueue", "sqs:SendMessage WakeQueue",
		"bedrock:InvokeModel BedrockModels", "bedrock:InvokeModelWithResponseStream BedrockModels", "bedrock:ApplyGuardrail BedrockGuardrails",
		"lambda:InvokeFunction ToolFunctions", "ssm:GetParameter " + parameters, "not ssm:GetParameter " + hookParameters, "not ssm:GetParameter " + signInParameter, "kms:Decrypt SecretsKeyArn"},
	"IntakeFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:PutItem Table", "dynamodb:Query Table", "dynamodb:Query Table/index/list",
		"dynamodb:UpdateItem Table", "sqs:ChangeMessageVisibility IntakeQueue", "sqs:DeleteMessage IntakeQueue", "sqs:GetQueueAttributes IntakeQueue", "sqs:ReceiveMessage IntakeQueue",
		"sqs:SendMessage IntakeDeadQueue", "sqs:SendMessage IntakeQueue", "sqs:SendMessage WakeQueue"},
	"NotifyFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:PutItem Table", "dynamodb:Query Table", "dynamodb:UpdateItem Table",
		"sqs:ChangeMessageVisibility NotifyQueue", "sqs:DeleteMessage NotifyQueue", "sqs:GetQueueAttributes NotifyQueue", "sqs:ReceiveMessage NotifyQueue",
		"sqs:SendMessage NotifyQueue", "events:PutEvents " + eventBus, "sns:Publish NoticeTopicArn", "ses:SendEmail " + mailIdentity, "ssm:GetParameter " + parameters, "not ssm:GetParameter " + hookParameters, "not ssm:GetParameter " + signInParameter, "kms:Decrypt SecretsKeyArn"},
	// each item only if it is of the tests' tenant
	"PreTrafficFunction": {"dynamodb:BatchGetItem Table", "dynamodb:GetItem Table", "dynamodb:PutItem Table", "dynamodb:Query Table", "dynamodb:Query Table/index/list", "dynamodb:UpdateItem Table",
		"dynamodb:DeleteItem Table", "lambda:InvokeFunction " + stepVersions, "lambda:GetFunctionConcurrency StepFunction", "codedeploy:PutLifecycleEventHookExecutionStatus " + deploymentGroups},
	"SweepFunction": {"dynamodb:Query Table/index/due", "dynamodb:UpdateItem Table", "sqs:SendMessage NotifyQueue", "sqs:SendMessage WakeQueue"},
}

// parameters are those of the one path that holds the secrets. It ends in a slash, and is at least
// one name long: its pattern sees to that.
const parameters = "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter${SecretsPath}*"

// hookParameters are the secrets of hooks, which no other function may read, slackParameters the
// tokens of Slack apps, and signInParameter the secret at the provider where people sign in.
const (
	hookParameters  = "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter${SecretsPath}HOOK_*"
	slackParameters = "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter${SecretsPath}SLACK_*"
	signInParameter = "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter${SecretsPath}OIDC_CLIENT_SECRET"
)

// stepVersions are the versions of the step function, of which a deployment makes another one, and
// deploymentGroups those of the application that SAM makes.
const (
	stepVersions     = "${StepFunction.Arn}:*"
	deploymentGroups = "arn:${AWS::Partition}:codedeploy:${AWS::Region}:${AWS::AccountId}:deploymentgroup:${ServerlessDeploymentApplication}/*"
)

// eventBus is one of the account, in the region of the stack.
const eventBus = "arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/${EventBusName}"

// mailIdentity is verified in SES in the region of the stack.
const mailIdentity = "arn:${AWS::Partition}:ses:${AWS::Region}:${AWS::AccountId}:identity/${NoticeMailIdentity}"

// beyond is what each right beyond the stack depends on: the condition, and the parameter that it
// must ask for.
var beyond = map[string][2]string{
	"bedrock:InvokeModel": {"AsksBedrock", "BedrockModels"}, "bedrock:InvokeModelWithResponseStream": {"AsksBedrock", "BedrockModels"},
	"bedrock:ApplyGuardrail": {"HasGuardrails", "BedrockGuardrails"}, "lambda:InvokeFunction": {"InvokesFunctions", "ToolFunctions"},
	"events:PutEvents": {"HasEventBus", "EventBusName"}, "sns:Publish": {"HasNoticeTopic", "NoticeTopicArn"},
	"ses:SendEmail":    {"SendsMail", "NoticeMailFrom"},
	"ssm:GetParameter": {"ReadsSecrets", "SecretsPath"}, "kms:Decrypt": {"HasSecretsKey", "SecretsKeyArn"},
}

func reachWrongs(t Template) (wrong []string) {
	var all []statement
	for _, id := range []string{"StepFunction", "NotifyFunction", "HookFunction", "DecisionFunction", "ConsoleFunction"} {
		all = append(all, statements(t.roleOf(t.Resource(id)))...)
	}
	for _, one := range all {
		for _, action := range List(member(one.body, "Action")) {
			depends, ok := beyond[fmt.Sprint(action)]
			switch condition := fmt.Sprint(t.Get("Conditions", depends[0])); {
			case !ok && one.condition == "":
			case one.condition != depends[0]:
				wrong = append(wrong, fmt.Sprintf("%v depends on %q, and must on %q", action, one.condition, depends[0]))
			case !strings.HasPrefix(condition, "map[Fn::Not:") && !strings.HasPrefix(condition, "map[Fn::And:[map[Condition:ReadsSecrets] map[Fn::Not:"),
				!strings.Contains(condition, "[map[Fn::Equals:["), !strings.Contains(condition, "Ref:"+depends[1]):
				wrong = append(wrong, fmt.Sprintf("%s is %s, and must say that %s is not empty", depends[0], condition, depends[1]))
			}
			if via := fmt.Sprint(member(one.body, "Condition", "StringEquals", "kms:ViaService")); action == "kms:Decrypt" && !strings.Contains(via, "ssm.${AWS::Region}.amazonaws.com") {
				wrong = append(wrong, "the key may be used for more than parameters")
			}
			if from := refOf(member(one.body, "Condition", "StringEquals", "ses:FromAddress")); action == "ses:SendEmail" && from != "NoticeMailFrom" {
				wrong = append(wrong, "mail may be sent from any address of the identity")
			}
		}
	}
	for name, pattern := range map[string]string{"SecretsPath": "(/([A-Za-z0-9_.-]+/)+)?", "BedrockModels": "(arn:[^ ]+)?", "BedrockGuardrails": "(arn:[^ ]+)?",
		"ToolFunctions": "(arn:[^ ]+)?", "SecretsKeyArn": "(arn:[^ ]+:key/[^ *]+)?", "EventBusName": "[A-Za-z0-9/_.-]{0,256}",
		"NoticeTopicArn": "(arn:[a-z0-9-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+)?",
		"NoticeMailFrom": "([A-Za-z0-9._+-]+@[A-Za-z0-9.-]+)?", "NoticeMailIdentity": "(([A-Za-z0-9._+-]+@)?[A-Za-z0-9.-]+)?"} {
		if p, _ := t.Parameter(name); p.AllowedPattern != pattern {
			wrong = append(wrong, fmt.Sprintf("%s takes %s, and must take %s alone", name, p.AllowedPattern, pattern))
		}
	}
	return wrong
}

// statement is one of a role, and what it depends on.
type statement struct {
	condition string
	body      any
}

func statements(role Resource) (all []statement) {
	for _, policy := range List(role.Get("Policies")) {
		for _, one := range List(member(policy, "PolicyDocument", "Statement")) {
			if choice := List(member(one, "Fn::If")); len(choice) == 3 {
				all = append(all, statement{fmt.Sprint(choice[0]), choice[1]})
			} else {
				all = append(all, statement{body: one})
			}
		}
	}
	return all
}

func wildcardWrongs(t Template) (wrong []string) {
	for _, kind := range []string{"AWS::IAM::Role", "AWS::IAM::ManagedPolicy", "AWS::SQS::QueuePolicy", "AWS::Serverless::Function"} {
		for _, r := range t.All(kind) {
			walk("", r.Body, func(key string, v any) {
				if key == "NotAction" || key == "NotResource" || key == "NotPrincipal" {
					wrong = append(wrong, r.ID+": "+key+" allows what nobody listed")
				}
				if key == "Action" || key == "Resource" || key == "Principal" {
					walk(key, v, func(_ string, v any) {
						if text, ok := v.(string); ok && strings.Contains(text, "*") && text != parameters && text != hookParameters && text != slackParameters && text != stepVersions && text != deploymentGroups && r.ID != "VpcPolicy" {
							wrong = append(wrong, fmt.Sprintf("%s: %s %s; name each", r.ID, key, text))
						}
					})
				}
			})
		}
	}
	return wrong
}

func (t Template) roleOf(f Resource) Resource { return t.Resource(attributeOf(f.Get("Role"), "Arn")) }

func roleWrongs(t Template) (wrong []string) {
	seen := map[string]bool{}
	for _, f := range t.Functions() {
		role := t.roleOf(f)
		if role.Type() != "AWS::IAM::Role" || seen[role.ID] {
			wrong = append(wrong, f.ID+" must have a role of its own")
			continue
		}
		seen[role.ID] = true
		log := []string{"logs:CreateLogStream " + refOf(f.Get("LoggingConfig", "LogGroup")), "logs:PutLogEvents " + refOf(f.Get("LoggingConfig", "LogGroup"))}
		if have := rights(role, "logs:"); !slices.Equal(have, log) {
			wrong = append(wrong, fmt.Sprintf("%s may %v, and must %v", role.ID, have, log))
		}
		if n := len(List(role.Get("Policies"))); n != 1 {
			wrong = append(wrong, fmt.Sprintf("%s has %d policies; write one", role.ID, n))
		}
	}
	return wrong
}

// rights are what a role may do that begins with one of the prefixes, sorted.
func rights(role Resource, prefixes ...string) (all []string) {
	for _, one := range statements(role) {
		for _, action := range List(member(one.body, "Action")) {
			name := fmt.Sprint(action)
			if member(one.body, "Effect") == "Deny" {
				name = "not " + name
			}
			if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
				continue
			}
			for _, on := range List(member(one.body, "Resource")) {
				all = append(all, name+" "+target(on))
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
	if name := refOf(v); name != "" {
		return name
	}
	if named := List(member(v, "Fn::Sub")); len(named) == 2 && as(member(named[1], "Name")) == chosenTable {
		return strings.Replace(fmt.Sprint(named[0]), "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${Name}", "Table", 1)
	}
	text, _ := member(v, "Fn::Sub").(string)
	return text
}

func grantWrongs(t Template) (wrong []string) {
	for _, f := range t.Functions() {
		have := rights(t.roleOf(f), "")
		have = slices.DeleteFunc(have, func(r string) bool { return strings.HasPrefix(r, "logs:") })
		for _, r := range have {
			if !slices.Contains(grants[f.ID], r) {
				wrong = append(wrong, f.ID+" may "+r+", which it never does")
			}
		}
		for _, r := range grants[f.ID] {
			if !slices.Contains(have, r) {
				wrong = append(wrong, f.ID+" does "+r+", and may not")
			}
		}
	}
	return wrong
}

// tenantWrongs: the function that tests versions reaches no tenant's items but those of tests.
func tenantWrongs(t Template) (wrong []string) {
	for _, one := range statements(t.Resource("PreTrafficRole")) {
		if !strings.HasPrefix(fmt.Sprint(List(member(one.body, "Action"))), "[dynamodb:") {
			continue
		}
		keys := "?#" + stack.PreTrafficTenant + "#*"
		if strings.HasSuffix(target(member(one.body, "Resource")), "/index/list") {
			keys = "T#" + stack.PreTrafficTenant // of its runs
		}
		want := `{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["` + keys + `"]}}`
		if got := as(member(one.body, "Condition")); got != want {
			wrong = append(wrong, fmt.Sprintf("PreTrafficFunction reaches items under the condition %s, and must under %s", got, want))
		}
	}
	return wrong
}

// storeWrongs compares with the methods that the store calls. A transaction is allowed by the
// rights of its writes; only they delete.
func storeWrongs(t Template) (wrong []string) {
	asked := []string{"dynamodb:DeleteItem"}
	for method := range reflect.TypeFor[dynamo.API]().Methods() {
		if method.Name != "TransactWriteItems" {
			asked = append(asked, "dynamodb:"+method.Name)
		}
	}
	allowed := []string{}
	for _, f := range t.Functions() {
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
