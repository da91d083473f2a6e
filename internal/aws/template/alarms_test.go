package template

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/aws/emf"
)

var alarmChecks = []check{
	{"every queue of dead letters has an alarm at the first of them", deadAlarmWrongs, []breakage{
		{"[{Name: QueueName, Value: !GetAtt IntakeDeadQueue.QueueName}]", "[{Name: QueueName, Value: !GetAtt IntakeQueue.QueueName}]"},
		{"MetricName: ApproximateNumberOfMessagesVisible", "MetricName: NumberOfMessagesSent"},
		{"      Threshold: 0\n", "      Threshold: 1\n"}}},
	{"a queue whose messages grow old has an alarm, above what a delay and a step may take", ageAlarmWrongs, []breakage{
		{"MetricName: ApproximateAgeOfOldestMessage", "MetricName: ApproximateNumberOfMessagesDelayed"},
		{"Old: 6600}", "Old: 2100}"},
		{"Old: 1260}", "Old: 1000}"},
		{"      Threshold: 1320\n", "      Threshold: 1000\n"},
		{"Threshold: !FindInMap [StepSeconds, !Ref StepTimeout, Old]", "Threshold: 60"}}},
	{"every function has an alarm for errors and one for throttles, and a sweep that is not called has one", functionAlarmWrongs, []breakage{
		{"MetricName: Throttles", "MetricName: Duration"},
		{"[{Name: FunctionName, Value: !Ref StreamFunction}]", "[{Name: FunctionName, Value: !Ref StepFunction}]"},
		{"TreatMissingData: breaching", "TreatMissingData: missing"}}},
	{"metrics that alarms and the dashboard show are written by the functions", metricWrongs, []breakage{
		{"MetricName: Takeovers", "MetricName: Takeover"},
		{`["Dormouse", "StepErrors"`, `["Dormouse", "StepFailures"`},
		{"[{Name: Stack, Value: !Ref AWS::StackName}]", "[{Name: FunctionName, Value: !Ref StepFunction}]"},
		{"MetricName: OldestDueSeconds", "MetricName: Overdue"},
		{"Namespace: Dormouse", "Namespace: dormouse"}}},
	{"an alarm on throttles of the table ends when they do", throttleWrongs, []breakage{
		{"FILL(due, 0)", "due"},
		{"FILL(table, 0) + ", ""}}},
	{"what waits for a minute rings, and long before a queue is old", slowWrongs, []breakage{
		{"      ExtendedStatistic: p95\n", "      Statistic: Average\n"},
		{"      MetricName: WakeLagSeconds\n", "      MetricName: WaitSeconds\n"},
		{"      MetricName: DecisionToStepSeconds\n", "      MetricName: WaitSeconds\n"},
		{"      Threshold: 60\n", "      Threshold: 600\n"}}},
	{"work that goes round in a circle rings, and a month's bill too if asked for", circleWrongs, []breakage{
		{"MetricName: EmptySteps", "MetricName: Commits"},
		{"> 3 * (FILL(steps, 0) - FILL(empty, 0))", "> 0"},
		{"  HasBudget: !Not [!Equals [!Ref MonthlyBudget, \"0\"]]", "  HasBudget: !Equals [!Ref MonthlyBudget, \"0\"]"},
		{"    Type: AWS::Budgets::Budget\n    Condition: HasBudget\n", "    Type: AWS::Budgets::Budget\n"},
		{"Amount: !Ref MonthlyBudget", "Amount: 10"}}},
	{"every alarm says what it means, and goes to who is named", actionWrongs, []breakage{
		{"AlarmActions: !If [HasTopic, [!Ref AlarmTopicArn], ", "AlarmActions: !If [HasTopic, [!Ref AlarmTopic], "},
		{"      AlarmDescription: The HTTP API answers with 5xx.\n", ""}}},
}

// dimension is the value of one of an alarm's.
func dimension(alarm Resource, name string) any {
	for _, d := range List(alarm.Get("Dimensions")) {
		if member(d, "Name") == name {
			return member(d, "Value")
		}
	}
	return nil
}

func (t Template) alarms(namespace, metric string) (found []Resource) {
	for _, a := range t.All("AWS::CloudWatch::Alarm") {
		if a.Get("Namespace") == namespace && a.Get("MetricName") == metric {
			found = append(found, a)
		}
	}
	return found
}

// alarmOf is the alarm of a metric whose dimension is what of says.
func (t Template) alarmOf(namespace, metric string, of func(Resource) bool) (Resource, bool) {
	all := t.alarms(namespace, metric)
	if i := slices.IndexFunc(all, of); i >= 0 {
		return all[i], true
	}
	return Resource{}, false
}

func onQueue(id string) func(Resource) bool {
	return func(a Resource) bool { return attributeOf(dimension(a, "QueueName"), "QueueName") == id }
}

func onFunction(id string) func(Resource) bool {
	return func(a Resource) bool { return refOf(dimension(a, "FunctionName")) == id }
}

// deadQueues are those that something falls into.
func (t Template) deadQueues() (ids []string) {
	walk("", t.root, func(key string, v any) {
		if key == "deadLetterTargetArn" {
			ids = append(ids, attributeOf(v, "Arn"))
		} else if key == "DeadLetterConfig" {
			ids = append(ids, attributeOf(member(v, "Arn"), "Arn"))
		}
	})
	slices.Sort(ids)
	return slices.Compact(ids)
}

func deadAlarmWrongs(t Template) (wrong []string) {
	for _, id := range t.deadQueues() {
		a, there := t.alarmOf("AWS/SQS", "ApproximateNumberOfMessagesVisible", onQueue(id))
		if !there || a.Get("Threshold") != 0 || a.Get("ComparisonOperator") != "GreaterThanThreshold" || a.Get("EvaluationPeriods") != 1 {
			wrong = append(wrong, id+" must have an alarm at its first message")
		}
	}
	return wrong
}

func ageAlarmWrongs(t Template) (wrong []string) {
	const longestDelay = 900
	for _, q := range t.taken() {
		a, there := t.alarmOf("AWS/SQS", "ApproximateAgeOfOldestMessage", onQueue(q.queue.ID))
		by, old := t.values(a.Get("Threshold"))
		byTimeout, timeouts := t.values(q.function.Get("Timeout"))
		_, hidden := t.values(q.queue.Get("VisibilityTimeout"))
		if !there || by != byTimeout || len(old) != len(timeouts) || len(hidden) != len(timeouts) {
			wrong = append(wrong, q.queue.ID+" must have an alarm for the age of its oldest message, by the time that a step may take")
			continue
		}
		for i := range old {
			if fine := max(longestDelay, hidden[i]) + timeouts[i]; old[i] < fine+60 {
				wrong = append(wrong, fmt.Sprintf("%s rings after %d s; a message that is delayed, or left hidden by a step that was killed, and then worked on can be %d s old, "+
					"and nothing is wrong", a.ID, old[i], fine))
			}
		}
	}
	return wrong
}

func functionAlarmWrongs(t Template) (wrong []string) {
	for _, f := range t.Functions() {
		if f.ID == "PreTrafficFunction" {
			continue // a deployment waits for it, and fails without it
		}
		for _, metric := range []string{"Errors", "Throttles"} {
			if a, there := t.alarmOf("AWS/Lambda", metric, onFunction(f.ID)); !there || a.Get("Threshold") != 0 {
				wrong = append(wrong, f.ID+" must have an alarm for "+metric)
			}
		}
	}
	a, there := t.alarmOf("AWS/Lambda", "Invocations", onFunction("SweepFunction"))
	if !there || a.Get("TreatMissingData") != "breaching" || a.Get("ComparisonOperator") != "LessThanThreshold" {
		wrong = append(wrong, "a sweep that is not called must ring: without it deadlines pass unseen")
	}
	return wrong
}

var shownMetric = regexp.MustCompile(`\["Dormouse", "(\w+)", "Stack", "\$\{AWS::StackName\}"`)

func metricWrongs(t Template) (wrong []string) {
	known := map[string]bool{}
	for _, name := range emf.Names() {
		known[string(name)] = true
	}
	rings := map[string]bool{}
	for _, a := range t.All("AWS::CloudWatch::Alarm") {
		if refOf(dimension(a, "Stack")) == "AWS::StackName" && a.Get("Namespace") == emf.Namespace {
			rings[fmt.Sprint(a.Get("MetricName"))] = true
		}
	}
	for name := range rings {
		if !known[name] {
			wrong = append(wrong, "no function writes "+name+", which has an alarm")
		}
	}
	for _, name := range []emf.Name{emf.OldestDueSeconds, emf.StepErrors, emf.Takeovers, emf.NoticesDead} {
		if !rings[string(name)] {
			wrong = append(wrong, string(name)+" must have an alarm")
		}
	}
	body := fmt.Sprint(List(t.Resource("Dashboard").Get("DashboardBody", "Fn::Sub"))[0])
	if !json.Valid([]byte(body)) {
		wrong = append(wrong, "the dashboard is no JSON")
	}
	for _, m := range shownMetric.FindAllStringSubmatch(body, -1) {
		if !known[m[1]] {
			wrong = append(wrong, "no function writes "+m[1]+", which the dashboard shows")
		}
	}
	return wrong
}

// throttleWrongs: "alarms that evaluate DynamoDB metrics always ignore missing data", says the
// reference of PutMetricAlarm, and there is no data while nothing is throttled.
func throttleWrongs(t Template) (wrong []string) {
	for _, id := range []string{"TableReadsAlarm", "TableWritesAlarm"} {
		expression, ids := "", []string{}
		for _, m := range List(t.Resource(id).Get("Metrics")) {
			if text, is := member(m, "Expression").(string); is {
				expression = text
			} else {
				ids = append(ids, fmt.Sprintf("FILL(%s, 0)", member(m, "Id")))
			}
		}
		if expression != strings.Join(ids, " + ") || len(ids) != 4 {
			wrong = append(wrong, fmt.Sprintf("%s must add up %s; it has %s", id, strings.Join(ids, " + "), expression))
		}
	}
	return wrong
}

func slowWrongs(t Template) (wrong []string) {
	for _, metric := range []emf.Name{emf.WakeLagSeconds, emf.DecisionToStepSeconds} {
		a := t.alarms(emf.Namespace, string(metric))
		if len(a) != 1 || a[0].Get("ExtendedStatistic") != "p95" || a[0].Get("Threshold") != 60 || a[0].Get("Period") != 60 {
			wrong = append(wrong, string(metric)+" must have an alarm at 60 s for one in twenty of a minute")
		}
	}
	return wrong
}

func circleWrongs(t Template) (wrong []string) {
	of := map[string]string{}
	for _, m := range List(t.Resource("LoopsAlarm").Get("Metrics")) {
		of[fmt.Sprint(member(m, "Id"))] = fmt.Sprint(member(m, "MetricStat", "Metric", "MetricName"), member(m, "Expression"))
	}
	const idle = "FILL(lost, 0) + FILL(empty, 0) > "
	for id, want := range map[string]string{"lost": string(emf.ClaimsLost) + "<nil>", "empty": string(emf.EmptySteps) + "<nil>", "steps": string(emf.Steps) + "<nil>",
		"loops": "<nil>IF(" + idle + "500, IF(" + idle + "3 * (FILL(steps, 0) - FILL(empty, 0)), 1, 0), 0)"} {
		if of[id] != want {
			wrong = append(wrong, fmt.Sprintf("LoopsAlarm: %s is %s, and must be %s", id, of[id], want))
		}
	}
	b := t.Resource("Budget")
	if as(t.Get("Conditions", "HasBudget")) != `{"Fn::Not":[{"Fn::Equals":[{"Ref":"MonthlyBudget"},"0"]}]}` || b.Condition() != "HasBudget" || refOf(b.Get("Budget", "BudgetLimit", "Amount")) != "MonthlyBudget" {
		wrong = append(wrong, "there must be a budget of MonthlyBudget dollars if that isn't 0, and only then")
	}
	return wrong
}

func actionWrongs(t Template) (wrong []string) {
	const named = `{"Fn::If":["HasTopic",[{"Ref":"AlarmTopicArn"}],{"Fn::If":["MakesTopic",[{"Ref":"AlarmTopic"}],{"Ref":"AWS::NoValue"}]}]}`
	for _, a := range t.All("AWS::CloudWatch::Alarm") {
		if to, _ := json.Marshal(a.Get("AlarmActions")); string(to) != named {
			wrong = append(wrong, a.ID+" goes to "+string(to))
		}
		if text, _ := a.Get("AlarmDescription").(string); len(text) < 20 {
			wrong = append(wrong, a.ID+" must say what it means")
		}
	}
	return wrong
}

func TestOperationsSaysWhatEveryAlarmMeans(t *testing.T) {
	page, err := os.ReadFile(root + "docs/guides/deploy-on-aws.md")
	if err != nil {
		t.Fatal(err)
	}
	real, err := Parse(readTemplate(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range unexplained(real, string(page)) {
		t.Errorf("docs/guides/deploy-on-aws.md does not say what %s means; give it a row in the table of alarms", id)
	}
	if got := unexplained(real, strings.ReplaceAll(string(page), "`Takeovers`", "`Takeover`")); len(got) != 1 {
		t.Errorf("with one alarm taken from the page, %v are missed", got)
	}
}

// unexplained are the alarms that the page does not name.
func unexplained(t Template, page string) (ids []string) {
	for _, a := range t.All("AWS::CloudWatch::Alarm") {
		if !strings.Contains(page, "`"+strings.TrimSuffix(a.ID, "Alarm")+"`") {
			ids = append(ids, a.ID)
		}
	}
	return ids
}
