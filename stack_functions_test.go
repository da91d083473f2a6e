package dormouse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var functionChecks = []check{
	{"the functions are those that there is code for, built for arm64", codeWrongs, []breakage{
		{"CodeUri: functions/sweep", "CodeUri: functions/broom"},
		{"CodeUri: functions/decision", "CodeUri: functions/api"},
		{"BuildMethod: go1.x", "BuildMethod: makefile"},
		{"Architectures: [arm64]", "Architectures: [x86_64]"}}},
	{"only the step function may call itself through a queue", recursionWrongs, []breakage{
		{"      RecursiveLoop: Allow\n", ""},
		{"      Timeout: 50\n", "      Timeout: 50\n      RecursiveLoop: Allow\n"}}},
	{"an answer is there before the HTTP API gives up, and a sweep before the next", timeoutWrongs, []breakage{
		{"Timeout: 29", "Timeout: 30"}, {"Timeout: 50", "Timeout: 61"}, {"TimeoutInMillis: 30000", "TimeoutInMillis: 5000"}}},
	{"streams alone have an address of their own", urlWrongs, []breakage{
		{"      Timeout: 50\n", "      Timeout: 50\n      FunctionUrlConfig: {AuthType: AWS_IAM}\n"},
		{"InvokeMode: RESPONSE_STREAM", "InvokeMode: BUFFERED"},
		{"      FunctionUrlConfig: {AuthType: NONE, InvokeMode: RESPONSE_STREAM}\n", ""}}},
	{"a version is published when a parameter of its environment changes", versionWrongs, []breakage{
		{" ${IntakeAgent} ${SecretsPath}\"", " ${IntakeAgent}\""},
		{"      AutoPublishAlias: live\n", ""},
		{"Alarms: [!Ref StepCanaryAlarm]", "Alarms: [!Ref ApiCanaryAlarm]"},
		{"Alarms: [!Ref StepCanaryAlarm]", "Alarms: [!Ref StepErrorsAlarm]"},
		{"Type: !Ref Rollout", "Type: AllAtOnce"},
		{"MaxLength: 40", "MaxLength: 80"}}},
	{"the sweep comes every minute, and what it misses is kept", scheduleWrongs, []breakage{
		{"rate(1 minute)", "rate(2 minutes)"},
		{"            DeadLetterConfig: {Arn: !GetAtt SweepDeadQueue.Arn}\n", ""},
		{"            OmitName: true", "            Name: sweep"}}},
	{"logs are kept for a while, each function's by itself", logWrongs, []breakage{
		{"LogGroup: !Ref SweepLogGroup", "LogGroup: !Ref StepLogGroup"},
		{"stream\", RetentionInDays: !Ref LogRetentionDays", "stream\""},
		{"LogFormat: JSON", "LogFormat: Text"}}},
}

// tooLong are parameters that do not fit into a description of 256 characters. What they say takes effect with another Version.
var tooLong = []string{"IAMRoles", "ProductName", "TenantNames", "Policy", "Origins", "PrivateHosts"}

// published go over to a new version by an alias; the others at once.
var published = []string{"ApiFunction", "DecisionFunction", "StepFunction"}

func codeWrongs(t template) (wrong []string) {
	code := map[string]string{"ApiFunction": "functions/api", "DecisionFunction": "functions/decision", "StreamFunction": "functions/api",
		"StepFunction": "functions/step", "SweepFunction": "functions/sweep"}
	for _, f := range t.functions() {
		uri, _ := f.get("CodeUri").(string)
		if uri == "" || uri != code[f.id] {
			wrong = append(wrong, fmt.Sprintf("%s is built from %q, and must be from %q", f.id, uri, code[f.id]))
		} else if _, err := os.Stat(filepath.Join(uri, "main.go")); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", f.id, err))
		}
		if dig(f.body, "Metadata", "BuildMethod") != "go1.x" || dig(f.body, "Metadata", "BuildProperties", "TrimGoPath") != true {
			wrong = append(wrong, f.id+" must be built by go1.x, with TrimGoPath")
		}
		delete(code, f.id)
	}
	for id := range code {
		wrong = append(wrong, "there is no "+id)
	}
	all := dig(t.root, "Globals", "Function")
	if dig(all, "Runtime") != "provided.al2023" || !slices.Equal(listOf(dig(all, "Architectures")), []any{"arm64"}) {
		wrong = append(wrong, "functions run on provided.al2023 and arm64")
	}
	return wrong
}

func recursionWrongs(t template) (wrong []string) {
	for _, f := range t.functions() {
		if allowed := f.get("RecursiveLoop") == "Allow"; allowed != (f.id == "StepFunction") {
			wrong = append(wrong, fmt.Sprintf("%s: RecursiveLoop: Allow is %v", f.id, allowed))
		}
	}
	return wrong
}

func timeoutWrongs(t template) (wrong []string) {
	for id, most := range map[string]int{"ApiFunction": 29, "DecisionFunction": 29, "SweepFunction": 59, "StreamFunction": 900, "StepFunction": 900} {
		_, seconds := t.values(t.resource(id).get("Timeout"))
		if len(seconds) == 0 || slices.Max(seconds) > most {
			wrong = append(wrong, fmt.Sprintf("%s may take %v s; %d at most", id, seconds, most))
		}
	}
	for _, i := range t.all("AWS::ApiGatewayV2::Integration") {
		if i.get("TimeoutInMillis") != 30000 {
			wrong = append(wrong, i.id+" must wait for 30000 ms, longer than its function may take")
		}
	}
	return wrong
}

func urlWrongs(t template) (wrong []string) {
	for _, f := range t.functions() {
		url := f.get("FunctionUrlConfig")
		if (url != nil) != (f.id == "StreamFunction") {
			wrong = append(wrong, fmt.Sprintf("%s: a function URL is %v", f.id, url))
		}
		if url != nil && (dig(url, "InvokeMode") != "RESPONSE_STREAM" || dig(url, "AuthType") != "NONE") {
			wrong = append(wrong, f.id+": the URL must stream, and ask for nothing but the ticket")
		}
	}
	return wrong
}

// versionWrongs: SAM publishes a version when the text of the template or the code changes, and the value of a parameter is neither. Only the version's
// description is looked at by CloudFormation itself, which makes a new version of a changed one.
func versionWrongs(t template) (wrong []string) {
	for _, f := range t.functions() {
		if (f.get("AutoPublishAlias") == "live") != slices.Contains(published, f.id) {
			wrong = append(wrong, fmt.Sprintf("%s: AutoPublishAlias is %v; of %v it is live", f.id, f.get("AutoPublishAlias"), published))
			continue
		}
		if f.get("AutoPublishAlias") == nil {
			continue
		}
		alarm := listOf(f.get("DeploymentPreference", "Alarms"))
		if len(alarm) != 1 || newestErrorsOf(t, refOf(alarm[0])) != f.id || refOf(f.get("DeploymentPreference", "Type")) != "Rollout" {
			wrong = append(wrong, f.id+" must be rolled out as Rollout says, and back by the alarm on the errors of its newest version alone: those of the one before would stop what mends them")
		}
		described := fmt.Sprint(f.get("VersionDescription", "Fn::Sub"))
		for _, name := range t.parametersOf(f) {
			if !slices.Contains(tooLong, name) && !containsReference(described, name) {
				wrong = append(wrong, fmt.Sprintf("%s: VersionDescription must name ${%s}, or a change of it is never published", f.id, name))
			}
		}
		if n := t.longest(described); n > 256 {
			wrong = append(wrong, fmt.Sprintf("%s: VersionDescription may become %d characters long, and has 256", f.id, n))
		}
	}
	return wrong
}

var reference = regexp.MustCompile(`\$\{(\w+)\}`)

// longest is how long a text can become once its references are replaced. A parameter without a bound is taken for the longest there is.
func (t template) longest(text string) int {
	n := len(reference.ReplaceAllString(text, ""))
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		p := dig(t.root, "Parameters", m[1])
		most, bounded := dig(p, "MaxLength").(int)
		for _, v := range listOf(dig(p, "AllowedValues")) {
			most, bounded = max(most, len(fmt.Sprint(v))), true
		}
		if pattern, _ := dig(p, "AllowedPattern").(string); strings.HasSuffix(pattern, "{1,63}") {
			most, bounded = 63, true
		}
		if !bounded {
			most = 4096
		}
		n += most
	}
	return n
}

// newestErrorsOf is the function of whose newest version the alarm counts the errors; "" if it counts anything else.
func newestErrorsOf(t template, alarm string) string {
	a := t.resource(alarm)
	function := refOf(dimension(a, "FunctionName"))
	if a.get("MetricName") != "Errors" || dig(dimension(a, "Resource"), "Fn::Sub") != "${"+function+"}:live" ||
		attributeOf(dimension(a, "ExecutedVersion"), "Version.Version") != function {
		return ""
	}
	return function
}

// parametersOf are the parameters that a function's version is made of.
func (t template) parametersOf(f resource) (names []string) {
	see := func(_ string, v any) {
		if name := refOf(v); dig(t.root, "Parameters", name) != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, v := range []any{f.get("Environment"), dig(t.root, "Globals", "Function", "Environment"), f.get("Timeout"), f.get("LoggingConfig")} {
		walk("", v, see)
	}
	return append(names, "Tracing")
}

func scheduleWrongs(t template) (wrong []string) {
	events := t.resource("SweepFunction").events("ScheduleV2")
	if len(events) != 1 || events[0].get("ScheduleExpression") != "rate(1 minute)" {
		return []string{"SweepFunction must have one schedule of a minute: deadlines and lost wake-ups wait for it"}
	}
	e := events[0]
	if e.get("OmitName") != true {
		wrong = append(wrong, e.id+" must say OmitName: a name is there once in an account, whatever the stack")
	}
	if t.resource(attributeOf(e.get("DeadLetterConfig", "Arn"), "Arn")).get("MessageRetentionPeriod") != 1209600 {
		wrong = append(wrong, e.id+" must have a queue for what it cannot hand over, that keeps it 14 days")
	}
	if e.get("RetryPolicy") == nil {
		wrong = append(wrong, e.id+" must have a RetryPolicy: the usual one goes on for a day")
	}
	return wrong
}

func logWrongs(t template) (wrong []string) {
	seen := map[string]bool{}
	for _, f := range t.functions() {
		group := refOf(f.get("LoggingConfig", "LogGroup"))
		if group == "" || seen[group] {
			wrong = append(wrong, f.id+" must have a log group of its own")
		}
		seen[group] = true
		if f.get("LoggingConfig", "LogFormat") != "JSON" || refOf(f.get("LoggingConfig", "ApplicationLogLevel")) != "LogLevel" {
			wrong = append(wrong, f.id+" must log JSON, of the level that LogLevel says")
		}
	}
	for _, g := range t.all("AWS::Logs::LogGroup") {
		if g.get("RetentionInDays") == nil {
			wrong = append(wrong, g.id+" keeps logs for ever; set RetentionInDays")
		}
	}
	return wrong
}
