package stackdoctor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/cli/stackdoctor"
)

var options = stackdoctor.Options{Stack: "desk", Region: "eu-central-1", Schema: schema, Now: noon}

func examine(t *testing.T, a *account, o stackdoctor.Options) stackdoctor.Report {
	t.Helper()
	r, err := stackdoctor.Examine(t.Context(), a.sources(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// unwell are the findings that are not ok.
func unwell(r stackdoctor.Report) (found []stackdoctor.Finding) {
	for _, f := range r.Findings {
		if f.Status != stackdoctor.OK {
			found = append(found, f)
		}
	}
	return found
}

func TestAHealthyStackIsOK(t *testing.T) {
	a := healthy()
	r := examine(t, a, options)
	if found := unwell(r); r.State != stackdoctor.OK || len(found) > 0 {
		t.Errorf("%s: %+v", r.State, found)
	}
	seen := map[string]bool{}
	for _, f := range r.Findings {
		seen[f.Check] = true
	}
	for _, check := range []string{"clock", "stack", "region", "quotas", "queues", "table", "dead letters", "alarms", "versions", "api", "policy", "models"} {
		if !seen[check] {
			t.Errorf("nothing is said of %s", check)
		}
	}
	if a.asked != "https://abc.execute-api.eu-central-1.amazonaws.com" || a.tried != nil {
		t.Errorf("asked %s, tried %v", a.asked, a.tried)
	}
}

// fault is one thing that is wrong, and the only finding that it leads to.
type fault struct {
	wrong  func(a *account)
	check  string
	status string
	says   string // in the detail
	do     string // in what to do
}

// TestEachFaultIsFound: a stack with one fault has exactly one finding about it; without the fault
// it has none.
func TestEachFaultIsFound(t *testing.T) {
	for _, group := range []map[string]fault{ofStack, ofFunctions, ofTable, ofAlarms, ofModels} {
		for name, f := range group {
			t.Run(name, func(t *testing.T) {
				a := healthy()
				f.wrong(a)
				r := examine(t, a, options)
				found := unwell(r)
				if len(found) != 1 {
					t.Fatalf("%d findings: %+v", len(found), found)
				}
				got := found[0]
				if got.Check != f.check || got.Status != f.status || !strings.Contains(got.Detail, f.says) || f.do == "" || !strings.Contains(got.Do, f.do) {
					t.Errorf("%+v", got)
				}
				if want := map[string]string{stackdoctor.Warning: stackdoctor.Warning, stackdoctor.Failed: stackdoctor.Failed, stackdoctor.Unchecked: stackdoctor.Unfinished}[f.status]; r.State != want {
					t.Errorf("the state is %s, want %s", r.State, want)
				}
			})
		}
	}
}

func change(id, status, reason string) func(*account) {
	return func(a *account) {
		for i, r := range a.stack.Resources {
			if r.ID == id {
				a.stack.Resources[i].Status, a.stack.Resources[i].Reason = status, reason
			}
		}
	}
}

var ofStack = map[string]fault{
	"clock behind":     {func(a *account) { a.skew = -9 * time.Second }, "clock", stackdoctor.Warning, "9s behind AWS", "NTP"},
	"clock far ahead":  {func(a *account) { a.skew = 61 * time.Second }, "clock", stackdoctor.Failed, "1m1s ahead of AWS", "NTP"},
	"no time":          {func(a *account) { a.silent = true }, "clock", stackdoctor.Unchecked, "no time", "again"},
	"rolled back":      {func(a *account) { a.stack.Status, a.stack.Reason = "UPDATE_ROLLBACK_COMPLETE", "no quota" }, "stack", stackdoctor.Warning, "rolled back: no quota", "deploy again"},
	"first failed":     {func(a *account) { a.stack.Status = "ROLLBACK_COMPLETE" }, "stack", stackdoctor.Failed, "ROLLBACK_COMPLETE", "deleted"},
	"stuck":            {func(a *account) { a.stack.Status = "UPDATE_ROLLBACK_FAILED" }, "stack", stackdoctor.Failed, "UPDATE_ROLLBACK_FAILED", "cause"},
	"a part failed":    {change("LoopsAlarm", "UPDATE_FAILED", "too many"), "stack", stackdoctor.Failed, "LoopsAlarm (AWS::CloudWatch::Alarm) is UPDATE_FAILED: too many", "deploy again"},
	"low quota":        {func(a *account) { a.account = stackdoctor.Account{Concurrency: 10, Unreserved: 10} }, "quotas", stackdoctor.Failed, "concurrency is 10, of which 10 are not reserved; the queues' functions take up to 10, and this stack reserves 50", "higher quota"},
	"little spare":     {func(a *account) { a.account.Unreserved = 25 }, "quotas", stackdoctor.Warning, "leaves 15 for callers", "higher quota"},
	"stopped":          {func(a *account) { a.reserved["desk-Step"] = 0 }, "quotas", stackdoctor.Failed, "concurrency of 0: StepFunction", "dormouse-restore start"},
	"mapping off":      {func(a *account) { a.mappings["m1"] = stackdoctor.Mapping{State: "Disabled"} }, "queues", stackdoctor.Failed, "StepFunctionWakeUps is disabled", "enable"},
	"mapping changing": {func(a *account) { a.mappings["m1"] = stackdoctor.Mapping{State: "Enabling"} }, "queues", stackdoctor.Warning, "is Enabling", "again"},
	"mapping broken": {func(a *account) {
		a.mappings["m1"] = stackdoctor.Mapping{State: "Enabled", Result: "PROBLEM: no permission"}
	}, "queues", stackdoctor.Failed, "PROBLEM: no permission", "role"},
	"mapping gone": {func(a *account) { a.err["Mapping"] = stackdoctor.ErrMissing }, "queues", stackdoctor.Failed, "was deleted", "deploy again"},
	"dead letters": {func(a *account) { a.messages["https://sqs/1/desk-IntakeDead"], a.oldest = 3, 50*time.Hour }, "dead letters", stackdoctor.Failed,
		"IntakeDeadQueue has 3 messages, the oldest for 2 days", "idempotency keys"},
	"one dead letter": {func(a *account) { a.messages["https://sqs/1/desk-WakeDead"], a.oldest = 1, 90*time.Minute }, "dead letters", stackdoctor.Failed,
		"WakeDeadQueue has 1 message, the oldest for 1h30m0s", "purge"},
	"age unknown": {func(a *account) { a.messages["https://sqs/1/desk-WakeDead"] = 1 }, "dead letters", stackdoctor.Failed, "not known yet", "purge"},
	"age forbidden": {func(a *account) {
		a.messages["https://sqs/1/desk-WakeDead"], a.err["Oldest"] = 1, &stackdoctor.Denied{Action: "cloudwatch:GetMetricStatistics"}
	}, "dead letters", stackdoctor.Failed, "needs cloudwatch:GetMetricStatistics", "purge"},
	"queue gone": {func(a *account) { a.err["Messages:https://sqs/1/desk-WakeDead"] = stackdoctor.ErrMissing }, "dead letters", stackdoctor.Failed, "WakeDeadQueue was deleted", "deploy again"},
}

func setLive(a *account, name, value string) {
	f := a.live["desk-Step"]
	f.Environment = map[string]string{"DORMOUSE_POLICY": policyText, "DORMOUSE_VERSION": "v7"}
	f.Environment[name] = value
	a.live["desk-Step"] = f
}

var ofFunctions = map[string]fault{
	"old version": {func(a *account) { a.aliases["desk-Step"] = stackdoctor.Alias{Version: "6"} }, "versions", stackdoctor.Failed, "reach version 6, and the stack published version 7", "rolled back"},
	"rollout": {func(a *account) {
		a.aliases["desk-Step"] = stackdoctor.Alias{Version: "6", Others: map[string]float64{"7": 0.1}}
	}, "versions", stackdoctor.Warning, "10 % go to version 7; the others go to version 6", "rollout"},
	"changed only":   {func(a *account) { setLive(a, "DORMOUSE_ORIGINS", "https://a.example") }, "versions", stackdoctor.Failed, "these differ: DORMOUSE_ORIGINS", "another Version"},
	"other code":     {func(a *account) { f := a.newest["desk-Step"]; f.Code = "c8"; a.newest["desk-Step"] = f }, "versions", stackdoctor.Failed, "these differ: the code", "another Version"},
	"broken":         {func(a *account) { a.newest["desk-Stream"] = stackdoctor.Function{State: "Failed", Reason: "no subnet"} }, "versions", stackdoctor.Failed, "StreamFunction can't run: no subnet", "cause"},
	"alias gone":     {func(a *account) { a.err["Alias"] = stackdoctor.ErrMissing }, "versions", stackdoctor.Failed, "was deleted", "deploy again"},
	"no answer":      {func(a *account) { a.err["Health"] = errors.New("no such host") }, "api", stackdoctor.Failed, "no such host", "--url"},
	"storage gone":   {func(a *account) { a.health.Status, a.health.Storage = "failing", "gone" }, "api", stackdoctor.Failed, "failing gone", "ApiFunction"},
	"old API":        {func(a *account) { a.health.Policy = "sha256:0000000000000000" }, "policy", stackdoctor.Failed, "the API's /healthz: the policy sha256:0000000000000000 is in force, but the parameter Policy has the policy " + digestOf(policyText), "another Version"},
	"invalid policy": {func(a *account) { a.stack.Parameters["Policy"] = "deny:" }, "policy", stackdoctor.Failed, "the parameter Policy is invalid", "deploy again"},
}

var ofTable = map[string]fault{
	"missing":       {func(a *account) { a.err["Table"] = stackdoctor.ErrMissing }, "table", stackdoctor.Failed, "desk-Table does not exist", "ExistingTable"},
	"no TTL":        {func(a *account) { a.ttl = "" }, "table", stackdoctor.Failed, "TTL is off", "attribute ttl"},
	"other TTL":     {func(a *account) { a.ttl = "expires" }, "table", stackdoctor.Failed, "uses the attribute expires instead of ttl", "attribute ttl"},
	"no backups":    {func(a *account) { a.backups = false }, "table", stackdoctor.Failed, "recovery is off", "turn on point-in-time"},
	"unprotected":   {func(a *account) { a.table.Protected = false }, "table", stackdoctor.Warning, "not protected", "DeletionProtection=true"},
	"provisioned":   {func(a *account) { a.table.OnDemand = false }, "table", stackdoctor.Warning, "provisioned", "on-demand"},
	"ceiling":       {func(a *account) { a.table.Ceiling = "100 write units per second" }, "table", stackdoctor.Warning, "maximum of 100 write units", "peak"},
	"updating":      {func(a *account) { a.table.Status = "UPDATING" }, "table", stackdoctor.Warning, "UPDATING", "again"},
	"no index":      {func(a *account) { delete(a.table.Indexes, "list") }, "table", stackdoctor.Failed, "the index list is missing", "ExistingTable"},
	"index builds":  {func(a *account) { a.table.Indexes["list"] = stackdoctor.Index{Keys: "lp,ls", Status: "CREATING"} }, "table", stackdoctor.Failed, "the index list is CREATING", "ACTIVE"},
	"other index":   {func(a *account) { a.table.Indexes["due"] = stackdoctor.Index{Keys: "due", Status: "ACTIVE"} }, "table", stackdoctor.Failed, "keys due instead of dsh,due", "ExistingTable"},
	"other keys":    {func(a *account) { a.table.Keys = "id" }, "table", stackdoctor.Failed, "its keys are id instead of pk,sk", "ExistingTable"},
	"newer program": {func(a *account) { a.newer = 2 }, "table", stackdoctor.Failed, "2 of the newest 5 runs were written by a newer version", "newer version"},
}

func setAlarm(a *account, set func(*stackdoctor.Alarm)) {
	alarm := a.alarms["desk-Loops"]
	set(&alarm)
	a.alarms["desk-Loops"] = alarm
}

var ofAlarms = map[string]fault{
	"rings": {func(a *account) {
		setAlarm(a, func(x *stackdoctor.Alarm) { x.State, x.Since = "ALARM", noon.Add(-time.Hour) })
	}, "alarms", stackdoctor.Failed, "in alarm: LoopsAlarm since 2026-11-29T11:00:00Z", "guide"},
	"blind":           {func(a *account) { setAlarm(a, func(x *stackdoctor.Alarm) { x.State = "INSUFFICIENT_DATA" }) }, "alarms", stackdoctor.Warning, "without data: LoopsAlarm since 2026-11-27T12:00:00Z", "logs"},
	"turned off":      {func(a *account) { setAlarm(a, func(x *stackdoctor.Alarm) { x.Enabled = false }) }, "alarms", stackdoctor.Warning, "actions turned off: LoopsAlarm", "turn"},
	"alarm gone":      {func(a *account) { delete(a.alarms, "desk-Loops") }, "alarms", stackdoctor.Failed, "deleted outside of the stack: LoopsAlarm", "deploy again"},
	"not confirmed":   {func(a *account) { a.topic = stackdoctor.Topic{Pending: 1} }, "alarms", stackdoctor.Failed, "no confirmed subscription and 1 that wait", "confirm"},
	"no subscription": {func(a *account) { a.topic = stackdoctor.Topic{} }, "alarms", stackdoctor.Failed, "has no subscription", "subscribe"},
	"topic gone":      {func(a *account) { a.err["Topic"] = stackdoctor.ErrMissing }, "alarms", stackdoctor.Failed, "does not exist", "AlarmTopicArn"},
	"no receiver": {func(a *account) {
		for name, alarm := range a.alarms {
			alarm.Actions = nil
			a.alarms[name] = alarm
		}
	}, "alarms", stackdoctor.Warning, "notify no one", "AlarmEmail"},
}

func setAccess(set func(*stackdoctor.Access)) func(*account) {
	return func(a *account) {
		access := a.access["anthropic.m-1 eu-central-1"]
		set(&access)
		a.access["anthropic.m-1 eu-central-1"] = access
	}
}

var ofModels = map[string]fault{
	"not in region":  {setAccess(func(x *stackdoctor.Access) { x.InRegion = false }), "models", stackdoctor.Failed, "anthropic.m-1 in eu-central-1 (desk): anthropic.m-1 is not available in the region", "region"},
	"not authorized": {setAccess(func(x *stackdoctor.Access) { x.Authorized = false }), "models", stackdoctor.Failed, "not authorized", "administrators"},
	"no access":      {setAccess(func(x *stackdoctor.Access) { x.Entitled = false }), "models", stackdoctor.Failed, "no access", "request access"},
	"no agreement":   {setAccess(func(x *stackdoctor.Access) { x.Agreed = false }), "models", stackdoctor.Warning, "no agreement", "accept"},
	"unknown":        {func(a *account) { a.err["Access"] = stackdoctor.ErrMissing }, "models", stackdoctor.Failed, "does not know it", "correct"},
	"not allowed": {func(a *account) {
		a.stack.Parameters["BedrockModels"] = "arn:aws:bedrock:us-east-1::foundation-model/anthropic.m-1"
	}, "models", stackdoctor.Failed, "BedrockModels does not allow it", "BedrockModels"},
	"of a newer time": {func(a *account) { a.unread = 1 }, "models", stackdoctor.Warning, "1 agent that this version can't read: not checked", "newer"},
}

// TestAMissingPermissionIsNamed: what may not be read is said with the permission that it needs,
// and all other checks are made.
func TestAMissingPermissionIsNamed(t *testing.T) {
	whole := len(examine(t, healthy(), options).Findings)
	for _, call := range []string{"Account", "Reserved", "Mapping", "Function", "Alias", "Table", "Expiry", "Backups", "Newer", "Messages", "Alarms", "Topic", "Deployed", "Access"} {
		a := healthy()
		a.err[call] = &stackdoctor.Denied{Action: "service:" + call}
		r := examine(t, a, options)
		found := unwell(r)
		if len(found) != 1 || found[0].Status != stackdoctor.Unchecked || !strings.Contains(found[0].Detail, "needs service:"+call) || !strings.Contains(found[0].Do, "service:"+call) || r.State != stackdoctor.Unfinished {
			t.Errorf("%s: %s, %+v", call, r.State, found)
		}
		if len(r.Findings) < whole-4 {
			t.Errorf("%s: only %d findings of %d", call, len(r.Findings), whole)
		}
		a.err[call] = errors.New("AWS says: InternalFailure")
		if found := unwell(examine(t, a, options)); len(found) == 0 || !strings.Contains(found[0].Detail, "InternalFailure") {
			t.Errorf("%s: %+v", call, found)
		}
	}
}

func TestAStackThatCannotBeRead(t *testing.T) {
	a := healthy()
	a.err["Stack"] = &stackdoctor.Denied{Action: "cloudformation:DescribeStacks"}
	if r := examine(t, a, options); r.State != stackdoctor.Unfinished || len(r.Findings) != 2 || !strings.Contains(r.Findings[1].Detail, "needs cloudformation:DescribeStacks") {
		t.Errorf("%+v", r)
	}
	a.err["Stack"], a.skew = errors.New("the signature has expired"), time.Hour
	if r := examine(t, a, options); r.State != stackdoctor.Failed || r.Findings[0].Check != "clock" {
		t.Errorf("a wrong clock is not the first finding: %+v", r)
	}
	a.err["Stack"], a.skew = stackdoctor.ErrMissing, 0
	if _, err := stackdoctor.Examine(t.Context(), a.sources(), options); !errors.Is(err, stackdoctor.ErrMissing) {
		t.Errorf("%v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := stackdoctor.Examine(ended, healthy().sources(), options); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	a = healthy()
	a.stack.Resources, a.stack.Outputs = nil, nil
	if r := examine(t, a, options); r.State != stackdoctor.Failed || !strings.Contains(r.Findings[1].Detail+r.Findings[2].Detail, "not a working stack of Dormouse's template") {
		t.Errorf("%+v", r)
	}
}

func TestADeploymentInProgressIsNoFailure(t *testing.T) {
	a := healthy()
	a.stack.Status, a.aliases["desk-Step"] = "UPDATE_IN_PROGRESS", stackdoctor.Alias{Version: "6"}
	r := examine(t, a, options)
	if found := unwell(r); r.State != stackdoctor.Warning || len(found) != 2 || found[0].Check != "stack" || found[1].Detail != "not compared during a deployment" {
		t.Errorf("%+v", found)
	}
}

func TestStreamsNeedARegionWithFunctionURLs(t *testing.T) {
	o := options
	o.Region = "eu-central-2"
	a := healthy()
	a.agents = nil
	if found := unwell(examine(t, a, o)); len(found) != 1 || found[0].Check != "region" || found[0].Status != stackdoctor.Failed || !strings.Contains(found[0].Do, "Streams=Off") {
		t.Errorf("%+v", found)
	}
	a.stack.Parameters["Streams"] = "Off"
	change("StreamFunction", "DELETE_COMPLETE", "")(a)
	if found := unwell(examine(t, a, o)); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

// TestThePolicyInForceIsComparedWithAFile: one function that runs another policy is named.
func TestThePolicyInForceIsComparedWithAFile(t *testing.T) {
	o := options
	o.Policy = &stackdoctor.Policy{From: "policy.yaml", Digest: digestOf("deny: [refund]")}
	a := healthy()
	found := unwell(examine(t, a, o))
	if len(found) != 1 || !strings.Contains(found[0].Detail, "the API's /healthz, StepFunction: the policy "+digestOf(policyText)+" is in force, but policy.yaml has the policy "+digestOf("deny: [refund]")) {
		t.Errorf("%+v", found)
	}
	a.health.Policy = digestOf("deny: [refund]")
	if found := unwell(examine(t, a, o)); len(found) != 1 || !strings.HasPrefix(found[0].Detail, "StepFunction: the policy") {
		t.Errorf("%+v", found)
	}
	for _, functions := range []map[string]stackdoctor.Function{a.live, a.newest} {
		f := functions["desk-Step"]
		f.Environment = map[string]string{"DORMOUSE_POLICY": "{deny: [refund]}  # the same, in another form"}
		functions["desk-Step"] = f
	}
	if found := unwell(examine(t, a, o)); len(found) != 0 {
		t.Errorf("%+v", found)
	}
	delete(a.stack.Parameters, "Policy") // deployed without CloudFormation's parameters
	o.Policy = nil
	if found := unwell(examine(t, a, o)); len(found) != 0 {
		t.Errorf("%+v", found)
	}
	a.health.Policy = agent.NoPolicy
	if found := unwell(examine(t, a, o)); len(found) != 2 || found[0].Detail != "the functions differ: no policy in the API's /healthz" {
		t.Errorf("%+v", found)
	}
}

func TestModelsAreTriedOnlyIfAsked(t *testing.T) {
	o := options
	o.TryModels, o.URL = true, "https://desk.example.com"
	a := healthy()
	a.agents = append(a.agents, agent.Definition{Name: "other", Model: agent.Model{Provider: agent.ProviderBedrock, ID: "eu.anthropic.m-2", Region: "eu-central-1"}},
		agent.Definition{Name: "more", Model: agent.Model{Provider: agent.ProviderOpenAI, ID: "gpt"}})
	a.access["eu.anthropic.m-2 eu-central-1"] = stackdoctor.Access{Model: "anthropic.m-2", InRegion: true, Authorized: true, Entitled: true, Agreed: true, Regions: []string{"eu-central-1", "eu-west-1"}}
	if found := unwell(examine(t, a, options)); len(found) != 1 || !strings.Contains(found[0].Detail, "does not allow the profile's model anthropic.m-2 in eu-central-1, eu-west-1") {
		t.Errorf("%+v", found)
	}
	a.stack.Parameters["BedrockModels"] += ",arn:aws:bedrock:*::foundation-model/anthropic.m-2"
	r := examine(t, a, o)
	if len(unwell(r)) != 0 || strings.Join(a.tried, ",") != "anthropic.m-1 eu-central-1,eu.anthropic.m-2 eu-central-1" || a.asked != o.URL {
		t.Errorf("%+v, tried %v, asked %s", unwell(r), a.tried, a.asked)
	}
	all := ""
	for _, f := range r.Findings {
		all += f.Detail + "\n"
	}
	for _, says := range []string{"not checked: access in eu-west-1", "not checked: models of the providers openai", "StepFunction's role was not tried"} {
		if !strings.Contains(all, says) {
			t.Errorf("it does not say %q:\n%s", says, all)
		}
	}
	a.err["Try:eu.anthropic.m-2"] = errors.New("AWS says: AccessDenied")
	a.err["Try:anthropic.m-1"] = &stackdoctor.Denied{Action: "bedrock:InvokeModel"}
	if found := unwell(examine(t, a, o)); len(found) != 2 || found[0].Status != stackdoctor.Unchecked || found[1].Status != stackdoctor.Failed {
		t.Errorf("%+v", found)
	}
}
