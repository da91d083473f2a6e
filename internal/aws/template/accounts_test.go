package template

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// accountChecks are about accounts and regions that forbid something or demand it.
var accountChecks = []check{
	{"every role is in the template, and within the boundary that an account demands", boundaryWrongs, []breakage{
		{"  DeployRole:\n    Type: AWS::IAM::Role\n    Properties:\n      PermissionsBoundary: !If [HasBoundary, !Ref PermissionsBoundaryArn, !Ref AWS::NoValue]\n",
			"  DeployRole:\n    Type: AWS::IAM::Role\n    Properties:\n"},
		{"            RoleArn: !GetAtt ScheduleRole.Arn\n", ""},
		{"Role: !GetAtt DeployRole.Arn, Alarms: [!Ref HookCanaryAlarm]", "Alarms: [!Ref HookCanaryAlarm]"},
		{"      Role: !GetAtt HookRole.Arn\n", ""}}},
	{"every function may use the key and the network, and only Lambda itself the network", sharedWrongs, []breakage{
		{"        - !If [HasKey, !Ref KeyPolicy, !Ref AWS::NoValue]\n", ""},
		{"        - !If [InVpc, !Ref VpcPolicy, !Ref AWS::NoValue]\n", ""},
		{"          - Effect: Deny\n            Action: [ec2:AssignPrivateIpAddresses", "          - Effect: Allow\n            Action: [ec2:AssignPrivateIpAddresses"},
		{"!Sub \"dynamodb.${AWS::Region}.amazonaws.com\", ", ""}}},
	{"one key encrypts everything that is kept, if it is given", keyWrongs, []breakage{
		{"KMSMasterKeyId: !If [HasKey, !Ref KmsKeyArn, !Ref AWS::NoValue]", "KMSMasterKeyId: !Ref AWS::NoValue"},
		{"      KmsKeyId: !If [HasKey, !Ref KmsKeyArn, !Ref AWS::NoValue]\n", ""},
		{"SqsManagedSseEnabled: !If [HasKey, false, true]", "SqsManagedSseEnabled: false"},
		{"      KmsMasterKeyId: !If [HasKey, !Ref KmsKeyArn, !Ref AWS::NoValue]\n      Subscription", "      Subscription"}}},
	{"decisions, the sweep and reads can have concurrency of their own", reserveWrongs, []breakage{
		{"      ReservedConcurrentExecutions: !If [ReservesDecisions, 2, !Ref AWS::NoValue]\n", ""},
		{"!If [ReservesDecisions, !Ref DecisionConcurrency, !Ref AWS::NoValue]", "!If [ReservesDecisions, !Ref ApiConcurrency, !Ref AWS::NoValue]"},
		{"  ReservesApi: !Not [!Equals [!Ref ApiConcurrency, 0]]", "  ReservesApi: !Not [!Equals [!Ref DecisionConcurrency, 0]]"}}},
	{"without streams there is no function with a URL, and nothing that needs one", streamlessWrongs, []breakage{
		{"    Type: AWS::Serverless::Function\n    Condition: HasStreams\n", "    Type: AWS::Serverless::Function\n"},
		{"  StreamThrottlesAlarm:\n    Type: AWS::CloudWatch::Alarm\n    Condition: HasStreams\n", "  StreamThrottlesAlarm:\n    Type: AWS::CloudWatch::Alarm\n"},
		{"!If [HasStreams, !GetAtt StreamFunctionUrl.FunctionUrl, \"\"]", "!GetAtt StreamFunctionUrl.FunctionUrl"},
		{"  StreamUrl:\n    Condition: HasStreams\n", "  StreamUrl:\n"}}},
}

// as is the JSON form of a part of the template.
func as(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func boundaryWrongs(t Template) (wrong []string) {
	for _, role := range t.All("AWS::IAM::Role") {
		if as(role.Get("PermissionsBoundary")) != `{"Fn::If":["HasBoundary",{"Ref":"PermissionsBoundaryArn"},{"Ref":"AWS::NoValue"}]}` {
			wrong = append(wrong, role.ID+" must have the boundary of PermissionsBoundaryArn")
		}
	}
	for _, f := range t.Functions() {
		if t.roleOf(f).Type() != "AWS::IAM::Role" {
			wrong = append(wrong, f.ID+" must name its role, or SAM makes one")
		}
		if f.Get("DeploymentPreference") != nil && attributeOf(f.Get("DeploymentPreference", "Role"), "Arn") != "DeployRole" {
			wrong = append(wrong, f.ID+" must be deployed by DeployRole, or SAM makes a role")
		}
		for _, e := range f.Events("ScheduleV2") {
			if attributeOf(e.Get("RoleArn"), "Arn") != "ScheduleRole" {
				wrong = append(wrong, e.ID+" must be called by ScheduleRole, or SAM makes a role")
			}
		}
	}
	return wrong
}

func sharedWrongs(t Template) (wrong []string) {
	for _, f := range t.Functions() {
		var attached []string
		for _, one := range List(t.roleOf(f).Get("ManagedPolicyArns")) {
			attached = append(attached, as(one))
		}
		for condition, policy := range map[string]string{"HasKey": "KeyPolicy", "InVpc": "VpcPolicy"} {
			if !slices.Contains(attached, fmt.Sprintf(`{"Fn::If":[%q,{"Ref":%q},{"Ref":"AWS::NoValue"}]}`, condition, policy)) {
				wrong = append(wrong, fmt.Sprintf("%s needs %s where %s holds", f.ID, policy, condition))
			}
		}
	}
	via := as(List(t.Resource("KeyPolicy").Get("PolicyDocument", "Statement"))[0])
	for _, service := range []string{"dynamodb", "sqs"} {
		if !strings.Contains(via, service+".${AWS::Region}.amazonaws.com") {
			wrong = append(wrong, "the key must be usable through "+service)
		}
	}
	allowed := List(t.Resource("VpcPolicy").Get("PolicyDocument", "Statement"))
	if len(allowed) != 2 || member(allowed[1], "Effect") != "Deny" || member(allowed[1], "Condition", "ArnLike", "lambda:SourceFunctionArn") == nil {
		wrong = append(wrong, "the code of a function must not be allowed what Lambda does to place it in a VPC")
	}
	return wrong
}

func keyWrongs(t Template) (wrong []string) {
	const key = `{"Fn::If":["HasKey",{"Ref":"KmsKeyArn"},{"Ref":"AWS::NoValue"}]}`
	where := map[string][]string{"AWS::DynamoDB::Table": {"SSESpecification", "KMSMasterKeyId"}, "AWS::SQS::Queue": {"KmsMasterKeyId"},
		"AWS::Logs::LogGroup": {"KmsKeyId"}, "AWS::SNS::Topic": {"KmsMasterKeyId"}}
	for kind, member := range where {
		for _, r := range t.All(kind) {
			if as(r.Get(member...)) != key {
				wrong = append(wrong, fmt.Sprintf("%s: %v must be the key of KmsKeyArn, if there is one", r.ID, member))
			}
			if own := as(r.Get("SqsManagedSseEnabled")); kind == "AWS::SQS::Queue" && own != `{"Fn::If":["HasKey",false,true]}` {
				wrong = append(wrong, r.ID+" must be encrypted by SQS where there is no key, and not twice")
			}
		}
	}
	return wrong
}

// reserveWrongs: a reservation of 0 would stop a function for good, so 0 must reserve nothing.
func reserveWrongs(t Template) (wrong []string) {
	for id, want := range map[string][2]string{"ApiFunction": {"ReservesApi", `{"Ref":"ApiConcurrency"}`}, "DecisionFunction": {"ReservesDecisions", `{"Ref":"DecisionConcurrency"}`},
		"SweepFunction": {"ReservesDecisions", "2"}, "StreamFunction": {"ReservesStreams", `{"Ref":"StreamConcurrency"}`}} {
		if have := as(t.Resource(id).Get("ReservedConcurrentExecutions")); have != fmt.Sprintf(`{"Fn::If":[%q,%s,{"Ref":"AWS::NoValue"}]}`, want[0], want[1]) {
			wrong = append(wrong, id+": its concurrency is "+have)
		}
	}
	for condition, parameter := range map[string]string{"ReservesApi": "ApiConcurrency", "ReservesDecisions": "DecisionConcurrency", "ReservesStreams": "StreamConcurrency"} {
		if have := as(t.Get("Conditions", condition)); have != fmt.Sprintf(`{"Fn::Not":[{"Fn::Equals":[{"Ref":%q},0]}]}`, parameter) {
			wrong = append(wrong, condition+" is "+have)
		}
	}
	return wrong
}

// streamlessWrongs looks for what names the function of streams, or what SAM makes of it, without
// the condition.
func streamlessWrongs(t Template) (wrong []string) {
	needs := func(v any) bool {
		found := false
		walk("", withoutChoice("HasStreams", v), func(_ string, v any) {
			for _, id := range []string{"StreamFunction", "StreamRole", "StreamLogGroup"} {
				found = found || refOf(v) == id || attributeOf(v, "Arn") == id
			}
			found = found || attributeOf(v, "FunctionUrl") != ""
		})
		return found
	}
	for _, r := range t.Resources() {
		url := r.Get("FunctionUrlConfig") != nil
		if r.Body["Condition"] != "HasStreams" && (url || needs(r.Body)) {
			wrong = append(wrong, r.ID+" needs the function of streams, and must have the condition HasStreams")
		}
	}
	if outputs, ok := t.Get("Outputs").(map[string]any); ok {
		for name, out := range outputs {
			if member(out, "Condition") != "HasStreams" && needs(out) {
				wrong = append(wrong, "the output "+name+" must have the condition HasStreams")
			}
		}
	}
	return wrong
}

// withoutChoice is a value in which every If on the condition has chosen as if it did not hold.
func withoutChoice(condition string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if choice := List(v["Fn::If"]); len(choice) == 3 && choice[0] == condition {
			return withoutChoice(condition, choice[2])
		}
		out := map[string]any{}
		for name, one := range v {
			out[name] = withoutChoice(condition, one)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = withoutChoice(condition, one)
		}
		return out
	}
	return v
}
