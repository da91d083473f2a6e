package stackdoctor_test

import (
	"context"
	"maps"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/cli/stackdoctor"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// account is a double of everything that the checks read. err has the errors of single calls, by
// their method, and after a colon their argument.
type account struct {
	stack    stackdoctor.Stack
	skew     time.Duration
	silent   bool
	account  stackdoctor.Account
	reserved map[string]int
	mappings map[string]stackdoctor.Mapping
	newest   map[string]stackdoctor.Function
	live     map[string]stackdoctor.Function
	aliases  map[string]stackdoctor.Alias
	table    stackdoctor.Table
	ttl      string
	backups  bool
	newer    int
	messages map[string]int
	oldest   time.Duration
	alarms   map[string]stackdoctor.Alarm
	topic    stackdoctor.Topic
	agents   []agent.Definition
	unread   int // agents of a newer program
	access   map[string]stackdoctor.Access
	tried    []string
	health   client.Health
	asked    string // the URL
	err      map[string]error
}

const policyText = "deny: [pay]"

func digestOf(text string) string {
	p, err := stackdoctor.ReadPolicy("a test", text)
	if err != nil {
		panic(err)
	}
	return p.Digest
}

var schema = stackdoctor.Schema{TTL: "ttl", Keys: "pk,sk", Indexes: map[string]string{"due": "dsh,due", "list": "lp,ls"}}

// healthy is an account with a stack in which every check is ok.
func healthy() *account {
	const arn = "arn:aws:lambda:eu-central-1:123456789012:function:"
	a := &account{
		stack: stackdoctor.Stack{Name: "desk", Status: "UPDATE_COMPLETE",
			Parameters: map[string]string{"Streams": "On", "Policy": policyText, "Version": "v7", "BedrockModels": "arn:aws:bedrock:eu-central-1::foundation-model/anthropic.m-1,arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.*"},
			Outputs:    map[string]string{"TableName": "desk-Table", "ApiUrl": "https://abc.execute-api.eu-central-1.amazonaws.com"},
			Resources: []stackdoctor.Resource{
				{ID: "Table", Type: "AWS::DynamoDB::Table", Name: "desk-Table"},
				{ID: "StepFunction", Type: "AWS::Lambda::Function", Name: "desk-Step"},
				{ID: "StepFunctionAliaslive", Type: "AWS::Lambda::Alias", Name: arn + "desk-Step:live"},
				{ID: "StepFunctionVersion1a", Type: "AWS::Lambda::Version", Name: arn + "desk-Step:6", Status: "DELETE_SKIPPED"},
				{ID: "StepFunctionVersion2b", Type: "AWS::Lambda::Version", Name: arn + "desk-Step:7"},
				{ID: "StreamFunction", Type: "AWS::Lambda::Function", Name: "desk-Stream"},
				{ID: "StepFunctionWakeUps", Type: "AWS::Lambda::EventSourceMapping", Name: "m1"},
				{ID: "WakeQueue", Type: "AWS::SQS::Queue", Name: "https://sqs/1/desk-Wake"},
				{ID: "WakeDeadQueue", Type: "AWS::SQS::Queue", Name: "https://sqs/1/desk-WakeDead"},
				{ID: "IntakeDeadQueue", Type: "AWS::SQS::Queue", Name: "https://sqs/1/desk-IntakeDead"},
				{ID: "WakeAgeAlarm", Type: "AWS::CloudWatch::Alarm", Name: "desk-WakeAge"},
				{ID: "LoopsAlarm", Type: "AWS::CloudWatch::Alarm", Name: "desk-Loops"},
			}},
		account:  stackdoctor.Account{Concurrency: 1000, Unreserved: 950},
		reserved: map[string]int{"desk-Stream": 50},
		mappings: map[string]stackdoctor.Mapping{"m1": {State: "Enabled", Result: "OK", AtMost: 10}},
		newest: map[string]stackdoctor.Function{"desk-Step": {Code: "c7", State: "Active", Environment: map[string]string{"DORMOUSE_POLICY": policyText, "DORMOUSE_VERSION": "v7"}},
			"desk-Stream": {Code: "c1", State: "Active"}},
		aliases: map[string]stackdoctor.Alias{"desk-Step": {Version: "7"}},
		table: stackdoctor.Table{Status: "ACTIVE", OnDemand: true, Protected: true, Keys: "pk,sk",
			Indexes: map[string]stackdoctor.Index{"due": {Keys: "dsh,due", Status: "ACTIVE"}, "list": {Keys: "lp,ls", Status: "ACTIVE"}}},
		ttl: "ttl", backups: true, messages: map[string]int{},
		alarms: map[string]stackdoctor.Alarm{}, topic: stackdoctor.Topic{Confirmed: 1},
		agents: []agent.Definition{{Name: "desk", Model: agent.Model{Provider: agent.ProviderBedrock, ID: "anthropic.m-1"}}, {Name: "echo", Model: agent.Model{Provider: agent.ProviderScripted}}},
		access: map[string]stackdoctor.Access{"anthropic.m-1 eu-central-1": {Model: "anthropic.m-1", InRegion: true, Authorized: true, Entitled: true, Agreed: true}},
		health: client.Health{Status: "ok", Version: "v7", Policy: digestOf(policyText)},
		err:    map[string]error{},
	}
	a.live = maps.Clone(a.newest)
	for _, name := range []string{"desk-WakeAge", "desk-Loops"} {
		a.alarms[name] = stackdoctor.Alarm{Name: name, State: "OK", Since: noon.Add(-48 * time.Hour), Enabled: true, Actions: []string{"arn:aws:sns:eu-central-1:123456789012:ops"}}
	}
	return a
}

func (a *account) failing(call, argument string) error {
	if err := a.err[call+":"+argument]; err != nil {
		return err
	}
	return a.err[call]
}

func (a *account) Stack(context.Context, string) (stackdoctor.Stack, error) {
	return a.stack, a.failing("Stack", "")
}

func (a *account) Skew() (time.Duration, bool) { return a.skew, !a.silent }

func (a *account) Account(context.Context) (stackdoctor.Account, error) {
	return a.account, a.failing("Account", "")
}

func (a *account) Reserved(_ context.Context, name string) (int, bool, error) {
	n, is := a.reserved[name]
	return n, is, a.failing("Reserved", name)
}

func (a *account) Mapping(_ context.Context, id string) (stackdoctor.Mapping, error) {
	return a.mappings[id], a.failing("Mapping", id)
}

func (a *account) Function(_ context.Context, name, qualifier string) (stackdoctor.Function, error) {
	if qualifier == "live" {
		return a.live[name], a.failing("Function", name)
	}
	return a.newest[name], a.failing("Function", name)
}

func (a *account) Alias(_ context.Context, name, _ string) (stackdoctor.Alias, error) {
	return a.aliases[name], a.failing("Alias", name)
}

func (a *account) Table(context.Context, string) (stackdoctor.Table, error) {
	return a.table, a.failing("Table", "")
}

func (a *account) Expiry(context.Context, string) (string, error) {
	return a.ttl, a.failing("Expiry", "")
}

func (a *account) Backups(context.Context, string) (bool, error) {
	return a.backups, a.failing("Backups", "")
}

func (a *account) Newer(context.Context) (int, int, error) { return 5, a.newer, a.failing("Newer", "") }

func (a *account) Messages(_ context.Context, url string) (int, error) {
	return a.messages[url], a.failing("Messages", url)
}

func (a *account) Oldest(context.Context, string) (time.Duration, bool, error) {
	return a.oldest, a.oldest > 0, a.failing("Oldest", "")
}

func (a *account) Alarms(_ context.Context, names []string) (found []stackdoctor.Alarm, err error) {
	for _, name := range names {
		if alarm, is := a.alarms[name]; is {
			found = append(found, alarm)
		}
	}
	return found, a.failing("Alarms", "")
}

func (a *account) Topic(context.Context, string) (stackdoctor.Topic, error) {
	return a.topic, a.failing("Topic", "")
}

func (a *account) Deployed(context.Context) ([]agent.Definition, int, error) {
	return a.agents, a.unread, a.failing("Deployed", "")
}

func (a *account) Access(_ context.Context, region, model string) (stackdoctor.Access, error) {
	return a.access[model+" "+region], a.failing("Access", model)
}

func (a *account) Try(_ context.Context, region, model string) error {
	a.tried = append(a.tried, model+" "+region)
	return a.failing("Try", model)
}

func (a *account) Health(context.Context) (client.Health, error) {
	return a.health, a.failing("Health", "")
}

func (a *account) sources() stackdoctor.Sources {
	return stackdoctor.Sources{Stacks: a, Clock: a, Quotas: a, Mappings: a, Versions: a, Tables: a, Queues: a, Ages: a, Alarms: a, Topics: a, Models: a,
		Runs:   func(string) stackdoctor.Runs { return a },
		Agents: func(string) stackdoctor.Agents { return a },
		Health: func(url string) stackdoctor.Health { a.asked = url; return a }}
}
