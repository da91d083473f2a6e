package template

import (
	"fmt"
	"slices"
	"strings"
)

var parameterChecks = []check{
	{"every parameter says what it is for and is used, and nothing must be answered to deploy", parameterWrongs, []breakage{
		{"    Description: \"With Auth=JWT: the audience that tokens must have.\"\n", ""},
		{"!Ref StreamConcurrency", "20"},
		{"    Default: default\n", ""}}},
	{"the outputs are what people and scripts ask for", func(t Template) (wrong []string) {
		for _, name := range []string{"ApiUrl", "StreamUrl", "TableName", "WakeQueueUrl", "IntakeQueueUrl", "IntakeQueueArn", "WakeDeadQueueUrl", "IntakeDeadQueueUrl", "NotifyQueueUrl",
			"NotifyDeadQueueUrl"} {
			if t.Get("Outputs", name, "Value") == nil || t.Get("Outputs", name, "Description") == nil {
				wrong = append(wrong, "there must be the output "+name+", with a description")
			}
		}
		return wrong
	}, []breakage{{"  TableName:\n    Description: The name of the table", "  Table:\n    Description: The name of the table"}}},
	{"the console of CloudFormation shows each parameter once, in a group", groupWrongs, []breakage{
		{"SubnetIds, SecurityGroupIds, KmsKeyArn", "SubnetIds, SecurityGroupIds"},
		{"[Policy, Prices, TenantDayCost]", "[Policy, Prices, TenantDayCost, Origins]"}}},
	{"what costs or tells more is off until somebody asks for it", func(t Template) (wrong []string) {
		for name, off := range map[string]any{"Tracing": "Off", "StreamConcurrency": 0, "ApiConcurrency": 0, "DecisionConcurrency": 0, "IntakeAgent": "", "PrivateHosts": "", "Origins": "", "BedrockModels": "",
			"BedrockGuardrails": "", "ToolFunctions": "", "SecretsPath": "", "SecretsKeyArn": "", "IAMRoles": "", "EventBusName": "", "NoticeTopicArn": "", "NoticeMailFrom": "",
			"NoticeMailIdentity": "", "SignInIssuer": "", "SignInClientId": "", "SubnetIds": "", "SecurityGroupIds": "", "KmsKeyArn": "",
			"PermissionsBoundaryArn": "", "ExistingTable": "", "MonthlyBudget": "0",
			"StartsPerSecond": 0, "DecisionsPerSecond": 0, "StreamsPerSecond": 0} {
			if p, _ := t.Parameter(name); p.Default != off {
				wrong = append(wrong, name+" must be off by default")
			}
		}
		return wrong
	}, []breakage{{"    Default: \"Off\"\n", "    Default: \"On\"\n"},
		{"  IAMRoles:\n    Type: String\n    Default: \"\"\n", "  IAMRoles:\n    Type: String\n    Default: \"arn:aws:iam::123456789012:root=admin\"\n"}}},
}

func parameterWrongs(t Template) (wrong []string) {
	used := map[string]bool{}
	var subs []string
	for _, section := range []string{"Conditions", "Globals", "Resources", "Outputs"} {
		walk("", t.Get(section), func(key string, v any) {
			used[refOf(v)] = true
			if text, ok := v.(string); ok && key == "Fn::Sub" {
				subs = append(subs, text)
			}
		})
	}
	for _, p := range t.Parameters() {
		inSub := slices.ContainsFunc(subs, func(text string) bool { return containsReference(text, p.Name) })
		if !used[p.Name] && !inSub {
			wrong = append(wrong, p.Name+" is not used")
		}
		if p.Description == "" {
			wrong = append(wrong, p.Name+" is not described")
		}
		if p.Default == nil {
			wrong = append(wrong, p.Name+" has no default")
		}
	}
	return wrong
}

func groupWrongs(t Template) (wrong []string) {
	shown := map[string]int{}
	for _, group := range List(t.Get("Metadata", "AWS::CloudFormation::Interface", "ParameterGroups")) {
		for _, name := range List(member(group, "Parameters")) {
			shown[fmt.Sprint(name)]++
		}
	}
	for _, p := range t.Parameters() {
		if shown[p.Name] != 1 {
			wrong = append(wrong, fmt.Sprintf("%s is in %d groups of AWS::CloudFormation::Interface, and must be in one", p.Name, shown[p.Name]))
		}
		delete(shown, p.Name)
	}
	for name := range shown {
		wrong = append(wrong, "a group names "+name+", which is no parameter")
	}
	return wrong
}

func containsReference(text, name string) bool { return strings.Contains(text, "${"+name+"}") }
