package dormouse_test

import (
	"maps"
	"slices"
	"strings"
)

var parameterChecks = []check{
	{"every parameter says what it is for and is used, and nothing must be answered to deploy", parameterWrongs, []breakage{
		{"    Description: With Auth=JWT - the audience that a token must name.\n", ""},
		{"!Ref StreamConcurrency", "20"},
		{"    Default: default\n", ""}}},
	{"the outputs are what people and scripts ask for", func(t template) (wrong []string) {
		for _, name := range []string{"ApiUrl", "StreamUrl", "TableName", "WakeQueueUrl", "IntakeQueueUrl", "IntakeQueueArn", "WakeDeadQueueUrl", "IntakeDeadQueueUrl"} {
			if dig(t.root, "Outputs", name, "Value") == nil || dig(t.root, "Outputs", name, "Description") == nil {
				wrong = append(wrong, "there must be the output "+name+", with a description")
			}
		}
		return wrong
	}, []breakage{{"  TableName:\n    Description: For", "  Table:\n    Description: For"}}},
	{"what costs or tells more is off until somebody asks for it", func(t template) (wrong []string) {
		for name, off := range map[string]any{"Tracing": "Off", "StreamConcurrency": 0, "IntakeAgent": "", "PrivateHosts": "", "Origins": "", "BedrockModels": "",
			"BedrockGuardrails": "", "ToolFunctions": "", "SecretsPath": "", "SecretsKeyArn": "", "IAMRoles": ""} {
			if dig(t.root, "Parameters", name, "Default") != off {
				wrong = append(wrong, name+" must be off by default")
			}
		}
		return wrong
	}, []breakage{{"    Default: \"Off\"\n", "    Default: \"On\"\n"},
		{"  IAMRoles:\n    Type: String\n    Default: \"\"\n", "  IAMRoles:\n    Type: String\n    Default: \"arn:aws:iam::123456789012:root=admin\"\n"}}},
}

func parameterWrongs(t template) (wrong []string) {
	used := map[string]bool{}
	var subs []string
	for _, section := range []string{"Conditions", "Globals", "Resources", "Outputs"} {
		walk("", t.root[section], func(key string, v any) {
			used[refOf(v)] = true
			if text, ok := v.(string); ok && key == "Fn::Sub" {
				subs = append(subs, text)
			}
		})
	}
	parameters, _ := t.root["Parameters"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		inSub := slices.ContainsFunc(subs, func(text string) bool { return containsReference(text, name) })
		if !used[name] && !inSub {
			wrong = append(wrong, name+" is not used")
		}
		if text, _ := dig(parameters[name], "Description").(string); text == "" {
			wrong = append(wrong, name+" is not described")
		}
		if dig(parameters[name], "Default") == nil {
			wrong = append(wrong, name+" has no default")
		}
	}
	return wrong
}

func containsReference(text, name string) bool { return strings.Contains(text, "${"+name+"}") }
