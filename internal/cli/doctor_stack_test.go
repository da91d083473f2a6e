package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/stackdoctor"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/proof/stackdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

const (
	opsTopic   = "arn:aws:sns:eu-central-1:123456789012:ops"
	denyPay    = "deny: [pay]"
	denyRefund = "deny: [refund]"
)

// deployedStack is a double of AWS with the healthy stack "desk", and an environment with
// credentials for it.
type deployedStack struct {
	*stackdouble.Double
	data *awsdouble.Double
	dead string // the URL of IntakeDeadQueue
}

func deployStack(t *testing.T) deployedStack {
	t.Helper()
	data := awsdouble.New(awsdouble.Options{})
	s := deployedStack{stackdouble.New(stackdouble.Account{}, data), data, ""}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	t.Cleanup(func() {
		if unknown := s.Unknown(); len(unknown) > 0 {
			t.Errorf("the double does not know %v", unknown)
		}
	})
	environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-central-1", "AWS_ENDPOINT_URL": web.URL})
	s.makeTable(t, "desk-Table", true)
	queue, err := data.SQS().CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("desk-IntakeDead")})
	if err != nil {
		t.Fatal(err)
	}
	s.dead = *queue.QueueUrl
	s.Change(func(a *stackdouble.Account) { *a = healthyAccount(web.URL, s.dead) })
	file := "model: {provider: bedrock, model: eu.anthropic.m-v1:0}\ntools: []\n"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "desk.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	withEnv(t, nil, "agents", "deploy", dir, "--table", "desk-Table").wantExit(t, cmdline.ExitOK)
	return s
}

// makeTable makes a table with backups; complete is whether it also has what a restored one lacks.
func (s deployedStack) makeTable(t *testing.T, name string, complete bool) {
	t.Helper()
	api, in := s.data.DynamoDB(), dynamo.Schema(name)
	in.DeletionProtectionEnabled = &complete
	if _, err := api.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if !complete {
		return
	}
	s.backUp(t, name, true)
	if _, err := api.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: &name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)}}); err != nil {
		t.Fatal(err)
	}
}

func (s deployedStack) backUp(t *testing.T, name string, on bool) {
	t.Helper()
	if _, err := s.data.DynamoDB().UpdateContinuousBackups(t.Context(), &dynamodb.UpdateContinuousBackupsInput{TableName: &name,
		PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: &on}}); err != nil {
		t.Fatal(err)
	}
}

func healthyAccount(url, dead string) stackdouble.Account {
	policy, err := stackdoctor.ReadPolicy("a test", denyPay)
	if err != nil {
		panic(err)
	}
	const arn = "arn:aws:lambda:eu-central-1:123456789012:function:"
	step := stackdouble.Version{Code: "c7", Environment: map[string]string{"DORMOUSE_POLICY": denyPay}}
	return stackdouble.Account{Now: time.Now(), Denied: map[string]bool{}, Stack: "desk", Status: "UPDATE_COMPLETE",
		Parameters: map[string]string{"Streams": "On", "Policy": denyPay, "BedrockModels": "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.m-v1:0,arn:aws:bedrock:*::foundation-model/anthropic.*"},
		Outputs:    map[string]string{"TableName": "desk-Table", "ApiUrl": url},
		Resources: []stackdouble.Resource{{ID: "StepFunction", Type: "AWS::Lambda::Function", Name: "desk-Step"}, {ID: "StepFunctionAliaslive", Type: "AWS::Lambda::Alias", Name: arn + "desk-Step:live"},
			{ID: "StepFunctionVersion2b", Type: "AWS::Lambda::Version", Name: arn + "desk-Step:7"}, {ID: "StreamFunction", Type: "AWS::Lambda::Function", Name: "desk-Stream"},
			{ID: "StepFunctionWakeUps", Type: "AWS::Lambda::EventSourceMapping", Name: "m1"}, {ID: "IntakeDeadQueue", Type: "AWS::SQS::Queue", Name: dead},
			{ID: "LoopsAlarm", Type: "AWS::CloudWatch::Alarm", Name: "desk-Loops"}},
		Concurrency: 1000, Unreserved: 950, Functions: map[string]stackdouble.Function{"desk-Step": {Newest: step, Live: &step, Number: "7"}, "desk-Stream": {Newest: stackdouble.Version{Code: "c1"}}},
		Mappings: map[string]stackdouble.Mapping{"m1": {State: "Enabled", AtMost: 10}}, Alarms: map[string]stackdouble.Alarm{"desk-Loops": {State: "OK", Since: time.Unix(1, 0), Topic: opsTopic}},
		Oldest: map[string]float64{"desk-IntakeDead": 90}, Topics: map[string]stackdouble.Topic{opsTopic: {Confirmed: "1", Pending: "0"}},
		Models:   map[string]stackdouble.Model{"anthropic.m-v1:0": {Authorized: true, Entitled: true, InRegion: true, Agreed: true}},
		Profiles: map[string][]string{"eu.anthropic.m-v1:0": {"arn:aws:bedrock:eu-central-1::foundation-model/anthropic.m-v1:0", "arn:aws:bedrock:eu-west-1::foundation-model/anthropic.m-v1:0"}},
		Health:   fmt.Sprintf(`{"status":"ok","version":"v7","policy":%q}`, policy.Digest)}
}

// examined runs doctor, and returns the findings that are not ok.
func examined(t *testing.T, args ...string) (report stackdoctor.Report, unwell []stackdoctor.Finding) {
	t.Helper()
	o := withEnv(t, nil, append([]string{"doctor", "--stack", "desk", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(o.stdout), &report); err != nil {
		t.Fatalf("%v: %s%s", err, o.stdout, o.stderr)
	}
	if bad := report.State == stackdoctor.Failed || report.State == stackdoctor.Unfinished; bad != (o.exit == cmdline.ExitFailed) || !bad && o.exit != cmdline.ExitOK {
		t.Errorf("state %s, exit %d", report.State, o.exit)
	}
	for _, f := range report.Findings {
		if f.Status != stackdoctor.OK {
			unwell = append(unwell, f)
		}
	}
	return report, unwell
}

// TestDoctorFindsEachFaultOfAStack goes through the SDK's clients: each fault is found, and is not
// found any more once it is corrected.
func TestDoctorFindsEachFaultOfAStack(t *testing.T) {
	s := deployStack(t)
	if report, unwell := examined(t); report.State != stackdoctor.OK {
		t.Fatalf("%+v", unwell)
	}
	var healthy stackdouble.Account
	s.Change(func(a *stackdouble.Account) { healthy = *a })
	with := func(change func(a *stackdouble.Account)) [2]func() {
		return [2]func(){func() { s.Change(change) }, func() { s.Change(func(a *stackdouble.Account) { *a = healthy }) }}
	}
	old := stackdouble.Version{Code: "c7", Environment: map[string]string{"DORMOUSE_POLICY": denyRefund}}
	function := func(f stackdouble.Function) func(a *stackdouble.Account) {
		return func(a *stackdouble.Account) {
			a.Functions = map[string]stackdouble.Function{"desk-Step": f, "desk-Stream": healthy.Functions["desk-Stream"]}
		}
	}
	step := healthy.Functions["desk-Step"]
	for name, c := range map[string]struct {
		do    [2]func()
		check []string // in this order
		says  string
	}{
		"clock":   {with(func(a *stackdouble.Account) { a.Now = a.Now.Add(10 * time.Minute) }), []string{"clock"}, "behind AWS"},
		"quota":   {with(func(a *stackdouble.Account) { a.Concurrency, a.Unreserved = 10, 10 }), []string{"quotas"}, "the account's concurrency is 10"},
		"stopped": {with(function(stackdouble.Function{Newest: step.Newest, Live: step.Live, Number: "7", Stopped: true})), []string{"quotas"}, "StepFunction"},
		"mapping": {with(func(a *stackdouble.Account) { a.Mappings = map[string]stackdouble.Mapping{"m1": {State: "Disabled"}} }), []string{"queues"}, "is disabled"},
		"backups": {[2]func(){func() { s.backUp(t, "desk-Table", false) }, func() { s.backUp(t, "desk-Table", true) }}, []string{"table"}, "recovery is off"},
		"alarm": {with(func(a *stackdouble.Account) {
			a.Alarms = map[string]stackdouble.Alarm{"desk-Loops": {State: "ALARM", Topic: opsTopic}}
		}), []string{"alarms"}, "in alarm: LoopsAlarm"},
		"no alarm": {with(func(a *stackdouble.Account) { a.Alarms = nil }), []string{"alarms", "alarms"}, "deleted outside"},
		"no subscriber": {with(func(a *stackdouble.Account) {
			a.Topics = map[string]stackdouble.Topic{opsTopic: {Confirmed: "0", Pending: "1"}}
		}), []string{"alarms"}, "wait for a confirmation"},
		"no topic":    {with(func(a *stackdouble.Account) { a.Topics = nil }), []string{"alarms"}, "does not exist"},
		"old version": {with(function(stackdouble.Function{Newest: step.Newest, Live: step.Live, Number: "6"})), []string{"versions"}, "reach version 6"},
		"old policy":  {with(function(stackdouble.Function{Newest: step.Newest, Live: &old, Number: "7"})), []string{"versions", "policy"}, "differ: DORMOUSE_POLICY"},
		"api":         {with(func(a *stackdouble.Account) { a.Health = `{"status":"ok","version":"v7","policy":"none"}` }), []string{"policy"}, "no policy is in force"},
		"model": {with(func(a *stackdouble.Account) {
			a.Models = map[string]stackdouble.Model{"anthropic.m-v1:0": {Authorized: true, InRegion: true}}
		}), []string{"models"}, "no access"},
		"unknown model": {with(func(a *stackdouble.Account) { a.Profiles = nil }), []string{"models"}, "does not know it"},
		"dead letter": {[2]func(){func() { s.send(t) }, func() {
			if _, err := s.data.SQS().PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &s.dead}); err != nil {
				t.Fatal(err)
			}
		}}, []string{"dead letters"}, "IntakeDeadQueue has 1 message, the oldest for 1m30s"},
	} {
		c.do[0]()
		_, unwell := examined(t)
		var checks []string
		for _, f := range unwell {
			checks = append(checks, f.Check)
		}
		if !slices.Equal(checks, c.check) || !strings.Contains(unwell[0].Detail, c.says) || unwell[0].Status != stackdoctor.Failed {
			t.Errorf("%s: %+v", name, unwell)
		}
		c.do[1]()
		if report, unwell := examined(t); report.State != stackdoctor.OK {
			t.Errorf("%s is corrected: %+v", name, unwell)
		}
	}
}

func (s deployedStack) send(t *testing.T) {
	t.Helper()
	if _, err := s.data.SQS().SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &s.dead, MessageBody: aws.String("{}")}); err != nil {
		t.Fatal(err)
	}
}

// TestDoctorSaysWhatARestoredTableLacks: a table that was restored by hand has no TTL, no backups
// and no protection.
func TestDoctorSaysWhatARestoredTableLacks(t *testing.T) {
	s := deployStack(t)
	s.makeTable(t, "desk-restored", false)
	s.Change(func(a *stackdouble.Account) { a.Outputs["TableName"] = "desk-restored" })
	o := withEnv(t, nil, "doctor", "--stack", "desk")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stdout, "warning      table         desk-restored is not protected from deletion\n             -> deploy with DeletionProtection=true; ",
		"failed       table         items don't expire: TTL is off", "failed       table         point-in-time recovery is off", "2 failed, 1 warning, ")
	contains(t, o.stderr, "the stack desk needs attention")
	s.Change(func(a *stackdouble.Account) { a.Outputs["TableName"] = "another" })
	o = withEnv(t, nil, "doctor", "--stack", "desk")
	contains(t, o.stdout, "the table another does not exist")
}

// TestDoctorNamesTheMissingPermission takes away one permission after the other. The guide lists
// each of them.
func TestDoctorNamesTheMissingPermission(t *testing.T) {
	s := deployStack(t)
	s.send(t)
	guide := read(t, "docs/guides/deploy-on-aws.md")
	for _, action := range []string{"cloudformation:DescribeStacks", "cloudformation:ListStackResources", "lambda:GetAccountSettings", "lambda:GetFunctionConcurrency",
		"lambda:GetEventSourceMapping", "lambda:GetFunctionConfiguration", "lambda:GetAlias", "dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive", "dynamodb:DescribeContinuousBackups",
		"dynamodb:Query", "dynamodb:GetItem", "sqs:GetQueueAttributes", "cloudwatch:DescribeAlarms", "cloudwatch:GetMetricStatistics", "sns:GetTopicAttributes",
		"bedrock:GetFoundationModelAvailability", "bedrock:GetInferenceProfile", "bedrock:InvokeModel"} {
		s.Change(func(a *stackdouble.Account) { a.Denied = map[string]bool{action: true} })
		report, unwell := examined(t, "--try-models")
		all := ""
		for _, f := range unwell {
			all += f.Status + " " + f.Detail + "\n"
		}
		service, operation, _ := strings.Cut(action, ":")
		if !strings.Contains(all, "needs "+service+":") || !strings.Contains(all, operation) || len(report.Findings) < 2 {
			t.Errorf("%s: %s", action, all)
		}
		if !strings.Contains(guide, "`"+action+"`") {
			t.Errorf("the guide does not say that doctor needs %s", action)
		}
	}
}

func TestDoctorTriesModelsIfAsked(t *testing.T) {
	s := deployStack(t)
	if examined(t); len(s.Asked()) != 0 {
		t.Errorf("asked %v without --try-models", s.Asked())
	}
	if _, unwell := examined(t, "--try-models"); len(unwell) != 0 || !slices.Equal(s.Asked(), []string{"eu.anthropic.m-v1:0"}) {
		t.Errorf("asked %v: %+v", s.Asked(), unwell)
	}
}

func TestDoctorComparesThePolicyWithAFile(t *testing.T) {
	deployStack(t)
	file := filepath.Join(t.TempDir(), "policy.yaml")
	for text, want := range map[string]string{denyPay: stackdoctor.OK, denyRefund: stackdoctor.Failed} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if report, unwell := examined(t, "--policy", file); report.State != want {
			t.Errorf("%s: %s, %+v", text, report.State, unwell)
		}
	}
}

func TestDoctorRefusesWhatItCannotExamine(t *testing.T) {
	s := deployStack(t)
	for _, c := range []struct {
		args []string
		exit int
		says string
	}{
		{[]string{"--stack", "other"}, cmdline.ExitUsage, `there is no stack "other" in eu-central-1`},
		{[]string{"--stack", "desk", "--data", "d"}, cmdline.ExitUsage, "exclude each other"},
		{[]string{"--try-models"}, cmdline.ExitUsage, "--try-models needs --stack"},
		{[]string{"--stack", "desk", "--policy", "none.yaml"}, cmdline.ExitUsage, "cannot read the policy"},
		{[]string{"--stack", "desk", "--for", "1ns"}, cmdline.ExitFailed, "--for"},
	} {
		o := withEnv(t, nil, append([]string{"doctor"}, c.args...)...)
		o.wantExit(t, c.exit)
		contains(t, o.stderr, c.says)
	}
	s.Change(func(a *stackdouble.Account) { a.Expired, a.Now = true, a.Now.Add(time.Hour) })
	o := withEnv(t, nil, "doctor", "--stack", "desk")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stdout, "failed       clock", "behind AWS")
	environment(t, nil)
	o = withEnv(t, nil, "doctor", "--stack", "desk", "--region", "eu-central-1")
	o.wantExit(t, cmdline.ExitUsage)
	contains(t, o.stderr, "there are no AWS credentials")
}

// TestDoctorSaysThatCloudFormationDoesNotAnswer: the address of a Dormouse server has nothing to do
// with it.
func TestDoctorSaysThatCloudFormationDoesNotAnswer(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": gone.URL, "AWS_MAX_ATTEMPTS": "1"})
	for _, args := range [][]string{{}, {"--json"}} {
		o := withEnv(t, nil, append([]string{"doctor", "--stack", "desk", "--region", "eu-central-1"}, args...)...)
		o.wantExit(t, cmdline.ExitUnreachable)
		contains(t, o.stderr, "CloudFormation does not answer in eu-central-1; look at the network, at --region and at AWS_ENDPOINT_URL (")
		if strings.Contains(o.stderr, "dormouse dev") || o.stdout != "" {
			t.Errorf("%s%s", o.stdout, o.stderr)
		}
	}
}

// TestDoctorSaysThatAnAnswerOfAWSIsCutOff, and not that a Dormouse server does not answer.
func TestDoctorSaysThatAnAnswerOfAWSIsCutOff(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("<DescribeStacksResponse>"))
	}))
	defer web.Close()
	environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": web.URL, "AWS_MAX_ATTEMPTS": "1"})
	o := withEnv(t, nil, "doctor", "--stack", "desk", "--region", "eu-central-1")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stderr, "the stack can't be read: ", "unexpected EOF")
}

// TestDoctorPrintsALinePerFinding: names and texts of AWS and of the API can't add a line.
func TestDoctorPrintsALinePerFinding(t *testing.T) {
	s := deployStack(t)
	const forged = "ok           policy        all is well"
	s.Change(func(a *stackdouble.Account) {
		a.Health = `{"status":"late\n` + forged + `"}`
		a.Alarms = map[string]stackdouble.Alarm{"desk-Loops": {State: "OK\n" + forged, Since: time.Unix(1, 0), Topic: opsTopic}}
		a.Status = "UPDATE_FAILED\n" + forged
	})
	o := withEnv(t, nil, "doctor", "--stack", "desk")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stdout, "/healthz says late", forged)
	for line := range strings.Lines(o.stdout) {
		if strings.HasPrefix(line, forged) {
			t.Errorf("a forged line:\n%s", o.stdout)
		}
	}
}
