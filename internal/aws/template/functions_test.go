package template

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/aws/emf"
)

var functionChecks = []check{
	{"the functions are those that there is code for, built for arm64", codeWrongs, []breakage{
		{"CodeUri: functions/sweep", "CodeUri: functions/broom"},
		{"CodeUri: functions/decision", "CodeUri: functions/api"},
		{"BuildMethod: go1.x", "BuildMethod: makefile"},
		{"Architectures: [arm64]", "Architectures: [x86_64]"}}},
	{"only the functions that work on runs and on deliveries may call themselves through a queue", recursionWrongs, []breakage{
		{"      RecursiveLoop: Allow\n", ""},
		{"      Timeout: 50\n", "      Timeout: 50\n      RecursiveLoop: Allow\n"}}},
	{"an answer is there before the HTTP API gives up, and a sweep before the next", timeoutWrongs, []breakage{
		{"Timeout: 29", "Timeout: 30"}, {"Timeout: 50", "Timeout: 61"}, {"TimeoutInMillis: 30000", "TimeoutInMillis: 5000"}}},
	{"streams alone have an address of their own", urlWrongs, []breakage{
		{"      Timeout: 50\n", "      Timeout: 50\n      FunctionUrlConfig: {AuthType: AWS_IAM}\n"},
		{"InvokeMode: RESPONSE_STREAM", "InvokeMode: BUFFERED"},
		{"      FunctionUrlConfig: {AuthType: NONE, InvokeMode: RESPONSE_STREAM}\n", ""}}},
	{"a version is published when a parameter of its environment changes", versionWrongs, []breakage{
		{"${StepMemory}${SecretsPath}\"", "${StepMemory}\""},
		{" ${IntakeTenant} ${IntakeAgent}\"", " ${IntakeTenant}\""},
		{"${LiveText}${Streams}\"", "${LiveText}\""},
		{"${LogLevel}${Tracing}${Auth}", "${LogLevel}${Auth}"},
		{"      AutoPublishAlias: live\n", ""},
		{"Alarms: [!Ref StepCanaryAlarm, ", "Alarms: [!Ref ApiCanaryAlarm, "},
		{"Alarms: [!Ref StepCanaryAlarm, ", "Alarms: [!Ref StepErrorsAlarm, "},
		{"Alarms: [!Ref StepCanaryAlarm, !Ref StepFailingAlarm]", "Alarms: [!Ref StepCanaryAlarm]"},
		{"Alarms: [!Ref StepCanaryAlarm, !Ref StepFailingAlarm]", "Alarms: [!Ref StepCanaryAlarm, !Ref StepErrorsOftenAlarm]"},
		{"              MetricName: ServerErrors\n", "              MetricName: StepErrors\n"},
		{"{Name: Version, Value: !GetAtt DecisionFunction.Version.Version}", "{Name: Version, Value: !GetAtt ApiFunction.Version.Version}"},
		{"Type: !Ref Rollout", "Type: AllAtOnce"},
		{"MaxLength: 40", "MaxLength: 80"}}},
	{"a new version of the step function is tested before it gets traffic, by a function that CodeDeploy may invoke", hookWrongs, []breakage{
		{"        Hooks: {PreTraffic: !Ref PreTrafficFunction}\n", ""},
		{"{PreTraffic: !Ref PreTrafficFunction}", "{PostTraffic: !Ref PreTrafficFunction}"},
		{"Resource: !GetAtt PreTrafficFunction.Arn", "Resource: !GetAtt SweepFunction.Arn"},
		{"DORMOUSE_STEP_VERSION: !Ref StepFunction.Version", "DORMOUSE_STEP_VERSION: !Ref StepFunction.Alias"}}},
	{"the sweep comes every minute, and what it misses is kept", scheduleWrongs, []breakage{
		{"rate(1 minute)", "rate(2 minutes)"},
		{"            DeadLetterConfig: {Arn: !GetAtt SweepDeadQueue.Arn}\n", ""},
		{"            OmitName: true", "            Name: sweep"}}},
	{"logs are kept for a while, each function's by itself", logWrongs, []breakage{
		{"LogGroup: !Ref SweepLogGroup", "LogGroup: !Ref StepLogGroup"},
		{"stream\"\n      RetentionInDays: !Ref LogRetentionDays", "stream\""},
		{"LogFormat: JSON", "LogFormat: Text"}}},
}

// tooLong are parameters that do not fit into a description of 256 characters. What they say takes
// effect with another Version.
var tooLong = []string{"IAMRoles", "ProductName", "TenantNames", "Policy", "Prices", "Origins", "PrivateHosts", "PublicUrl", "EventBusName", "NoticeTopicArn", "NoticeKinds",
	"NoticeSource", "NoticeMailFrom", "SignInIssuer", "SignInClientId", "SignInRoles", "JwtIssuer", "SubnetIds", "SecurityGroupIds", "ExistingTable", "Shards", "HeldReads", "ApiConcurrency",
	"StartsPerSecond", "DecisionsPerSecond", "StreamsPerSecond"}

// published go over to a new version by an alias; the others at once.
var published = []string{"ApiFunction", "DecisionFunction", "HookFunction", "ConsoleFunction", "StepFunction", "NotifyFunction", "IntakeFunction"}

// failures are the metrics of what fails without an error of the function.
var failures = map[string]emf.Name{"ApiFunction": emf.ServerErrors, "DecisionFunction": emf.ServerErrors, "StepFunction": emf.StepErrors, "IntakeFunction": emf.IntakeErrors}

func codeWrongs(t Template) (wrong []string) {
	code := map[string]string{"ApiFunction": "functions/api", "DecisionFunction": "functions/decision", "HookFunction": "functions/hook", "ConsoleFunction": "functions/console", "StreamFunction": "functions/api",
		"StepFunction": "functions/step", "SweepFunction": "functions/sweep", "NotifyFunction": "functions/notify", "IntakeFunction": "functions/intake", "PreTrafficFunction": "functions/pretraffic"}
	for _, f := range t.Functions() {
		uri, _ := f.Get("CodeUri").(string)
		if uri == "" || uri != code[f.ID] {
			wrong = append(wrong, fmt.Sprintf("%s is built from %q, and must be from %q", f.ID, uri, code[f.ID]))
		} else if _, err := os.Stat(filepath.Join(root, uri, "main.go")); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", f.ID, err))
		}
		if member(f.Body, "Metadata", "BuildMethod") != "go1.x" || member(f.Body, "Metadata", "BuildProperties", "TrimGoPath") != true {
			wrong = append(wrong, f.ID+" must be built by go1.x, with TrimGoPath")
		}
		delete(code, f.ID)
	}
	for id := range code {
		wrong = append(wrong, "there is no "+id)
	}
	all := t.Get("Globals", "Function")
	if member(all, "Runtime") != "provided.al2023" || !slices.Equal(List(member(all, "Architectures")), []any{"arm64"}) {
		wrong = append(wrong, "functions run on provided.al2023 and arm64")
	}
	return wrong
}

func recursionWrongs(t Template) (wrong []string) {
	for _, f := range t.Functions() {
		if allowed := f.Get("RecursiveLoop") == "Allow"; allowed != slices.Contains([]string{"StepFunction", "NotifyFunction", "IntakeFunction"}, f.ID) {
			wrong = append(wrong, fmt.Sprintf("%s: RecursiveLoop: Allow is %v", f.ID, allowed))
		}
	}
	return wrong
}

func timeoutWrongs(t Template) (wrong []string) {
	for id, most := range map[string]int{"ApiFunction": 29, "DecisionFunction": 29, "HookFunction": 29, "ConsoleFunction": 29, "SweepFunction": 59, "StreamFunction": 900, "StepFunction": 900, "NotifyFunction": 900, "IntakeFunction": 30, "PreTrafficFunction": 59} {
		_, seconds := t.values(t.Resource(id).Get("Timeout"))
		if len(seconds) == 0 || slices.Max(seconds) > most {
			wrong = append(wrong, fmt.Sprintf("%s may take %v s; %d at most", id, seconds, most))
		}
	}
	for _, i := range t.All("AWS::ApiGatewayV2::Integration") {
		if i.Get("TimeoutInMillis") != 30000 {
			wrong = append(wrong, i.ID+" must wait for 30000 ms, longer than its function may take")
		}
	}
	return wrong
}

func urlWrongs(t Template) (wrong []string) {
	for _, f := range t.Functions() {
		url := f.Get("FunctionUrlConfig")
		if (url != nil) != (f.ID == "StreamFunction") {
			wrong = append(wrong, fmt.Sprintf("%s: a function URL is %v", f.ID, url))
		}
		if url != nil && (member(url, "InvokeMode") != "RESPONSE_STREAM" || member(url, "AuthType") != "NONE") {
			wrong = append(wrong, f.ID+": the URL must stream, and ask for nothing but the ticket")
		}
	}
	return wrong
}

// versionWrongs: SAM publishes a version when the text of the template or the code changes, and the
// value of a parameter is neither. Only the version's description is looked at by CloudFormation
// itself, which makes a new version of a changed one.
func versionWrongs(t Template) (wrong []string) {
	for _, f := range t.Functions() {
		if (f.Get("AutoPublishAlias") == "live") != slices.Contains(published, f.ID) {
			wrong = append(wrong, fmt.Sprintf("%s: AutoPublishAlias is %v; of %v it is live", f.ID, f.Get("AutoPublishAlias"), published))
			continue
		}
		if f.Get("AutoPublishAlias") == nil {
			continue
		}
		alarm := List(f.Get("DeploymentPreference", "Alarms"))
		metric := failures[f.ID]
		if metric != "" && (len(alarm) != 2 || newestFailuresOf(t, refOf(alarm[1]), metric) != f.ID) {
			wrong = append(wrong, fmt.Sprintf("%s must be rolled back by the share of %s of its newest version: Lambda counts crashes alone", f.ID, metric))
			continue
		}
		if len(alarm) == 0 || metric == "" && len(alarm) > 1 || newestErrorsOf(t, refOf(alarm[0])) != f.ID || refOf(f.Get("DeploymentPreference", "Type")) != "Rollout" {
			wrong = append(wrong, f.ID+" must be rolled out as Rollout says, and back by the alarm on the errors of its newest version alone: those of the one before would stop what mends them")
		}
		described := descriptions(f.Get("VersionDescription"))
		for _, name := range t.parametersOf(f) {
			if !slices.Contains(tooLong, name) && !containsReference(strings.Join(described, " "), name) {
				wrong = append(wrong, fmt.Sprintf("%s: VersionDescription must name ${%s}, or a change of it is never published", f.ID, name))
			}
		}
		for _, text := range described {
			if n := t.longest(text); n > 256 {
				wrong = append(wrong, fmt.Sprintf("%s: VersionDescription may become %d characters long, and has 256", f.ID, n))
			}
		}
	}
	return wrong
}

// hookWrongs: the function that tests a version is in the way of no other version.
func hookWrongs(t Template) (wrong []string) {
	for _, f := range t.Functions() {
		want := any(nil)
		if f.ID == "StepFunction" {
			want = map[string]any{"PreTraffic": map[string]any{"Ref": "PreTrafficFunction"}}
		}
		if got := f.Get("DeploymentPreference", "Hooks"); as(got) != as(want) {
			wrong = append(wrong, fmt.Sprintf("the hooks of %s are %v, and must be %v", f.ID, got, want))
		}
	}
	if got := rights(t.Resource("DeployRole"), ""); !slices.Equal(got, []string{"lambda:InvokeFunction PreTrafficFunction"}) {
		wrong = append(wrong, fmt.Sprintf("DeployRole may %v beside what AWS gives it, and must invoke PreTrafficFunction alone", got))
	}
	if v := t.Resource("PreTrafficFunction").Get("Environment", "Variables", "DORMOUSE_STEP_VERSION"); refOf(v) != "StepFunction.Version" {
		wrong = append(wrong, fmt.Sprintf("PreTrafficFunction tests %v, and must test the newest version of StepFunction", v))
	}
	return wrong
}

// descriptions are the texts that a description can be.
func descriptions(v any) (all []string) {
	if choice := List(member(v, "Fn::If")); len(choice) == 3 {
		return append(descriptions(choice[1]), descriptions(choice[2])...)
	}
	return []string{fmt.Sprint(member(v, "Fn::Sub"))}
}

// longest is how long a text can become once its references are replaced.
func (t Template) longest(text string) int {
	filled, err := substitute(text, func(name string) (string, error) {
		p, _ := t.Parameter(name)
		return strings.Repeat("x", longestValue(p)), nil
	})
	if err != nil {
		return unbounded
	}
	return len(filled)
}

const unbounded = 4096 // the longest value that a parameter can have

func longestValue(p Parameter) int {
	if strings.HasSuffix(p.AllowedPattern, "{1,63}") {
		return 63
	}
	most := p.MaxLength
	for _, v := range p.AllowedValues {
		most = max(most, len(fmt.Sprint(v)))
	}
	if most == 0 {
		return unbounded
	}
	return most
}

// newestErrorsOf is the function of whose newest version the alarm counts the errors; "" if it
// counts anything else.
func newestErrorsOf(t Template, alarm string) string {
	a := t.Resource(alarm)
	function := refOf(dimension(a, "FunctionName"))
	if a.Get("MetricName") != "Errors" || member(dimension(a, "Resource"), "Fn::Sub") != "${"+function+"}:live" ||
		attributeOf(dimension(a, "ExecutedVersion"), "Version.Version") != function {
		return ""
	}
	return function
}

// newestFailuresOf is the function of whose newest version the alarm compares a metric with the
// invocations; "" if it does not.
func newestFailuresOf(t Template, alarm string, metric emf.Name) (function string) {
	var share string
	for _, m := range List(t.Resource(alarm).Get("Metrics")) {
		stat := Resource{Body: map[string]any{"Properties": member(m, "MetricStat", "Metric")}}
		of := ""
		switch member(m, "Id") {
		case "share":
			share, _ = member(m, "Expression").(string)
			continue
		case "failed":
			of = refOf(dimension(stat, "Function"))
			if stat.Get("MetricName") != string(metric) || refOf(dimension(stat, "Stack")) != "AWS::StackName" || attributeOf(dimension(stat, "Version"), "Version.Version") != of {
				return ""
			}
		case "invoked":
			of = refOf(dimension(stat, "FunctionName"))
			if stat.Get("MetricName") != "Invocations" || attributeOf(dimension(stat, "ExecutedVersion"), "Version.Version") != of {
				return ""
			}
		}
		if function != "" && of != function {
			return ""
		}
		function = of
	}
	if share != "IF(FILL(failed, 0) * 10 > invoked, 1, 0)" {
		return ""
	}
	return function
}

// parametersOf are the parameters that a function's version is made of.
func (t Template) parametersOf(f Resource) (names []string) {
	var see func(key string, v any)
	see = func(key string, v any) {
		if name := refOf(v); t.Get("Parameters", name) != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if choice := List(v); key == "Fn::If" && len(choice) == 3 {
			walk("", t.Get("Conditions", fmt.Sprint(choice[0])), see)
		}
	}
	all := t.Get("Globals", "Function")
	for _, v := range []any{f.Get("Environment"), f.Get("Timeout"), f.Get("MemorySize"), f.Get("LoggingConfig"), member(all, "Environment"), member(all, "Tracing"), member(all, "VpcConfig")} {
		walk("", v, see)
	}
	return names
}

func scheduleWrongs(t Template) (wrong []string) {
	events := t.Resource("SweepFunction").Events("ScheduleV2")
	if len(events) != 1 || events[0].Get("ScheduleExpression") != "rate(1 minute)" {
		return []string{"SweepFunction must have one schedule of a minute: deadlines and lost wake-ups wait for it"}
	}
	e := events[0]
	if e.Get("OmitName") != true {
		wrong = append(wrong, e.ID+" must say OmitName: a name is there once in an account, whatever the stack")
	}
	if t.Resource(attributeOf(e.Get("DeadLetterConfig", "Arn"), "Arn")).Get("MessageRetentionPeriod") != 1209600 {
		wrong = append(wrong, e.ID+" must have a queue for what it cannot hand over, that keeps it 14 days")
	}
	if e.Get("RetryPolicy") == nil {
		wrong = append(wrong, e.ID+" must have a RetryPolicy: the usual one goes on for a day")
	}
	return wrong
}

func logWrongs(t Template) (wrong []string) {
	seen := map[string]bool{}
	for _, f := range t.Functions() {
		group := refOf(f.Get("LoggingConfig", "LogGroup"))
		if group == "" || seen[group] {
			wrong = append(wrong, f.ID+" must have a log group of its own")
		}
		seen[group] = true
		if f.Get("LoggingConfig", "LogFormat") != "JSON" || refOf(f.Get("LoggingConfig", "ApplicationLogLevel")) != "LogLevel" {
			wrong = append(wrong, f.ID+" must log JSON, of the level that LogLevel says")
		}
	}
	for _, g := range t.All("AWS::Logs::LogGroup") {
		if g.Get("RetentionInDays") == nil {
			wrong = append(wrong, g.ID+" keeps logs for ever; set RetentionInDays")
		}
	}
	return wrong
}
