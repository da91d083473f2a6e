package awsenv_test

import (
	"bytes"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/examples/night-shift/nightshift"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// register adds the tools and the hook of a program.
var register = binding.New(nightshift.Program()).Lambda

func environment(more map[string]string) func(string) string {
	all := map[string]string{"DORMOUSE_TABLE": "table", "DORMOUSE_WAKE_QUEUE_URL": "http://127.0.0.1:1/123456789012/wake", "DORMOUSE_NOTIFY_QUEUE_URL": "http://127.0.0.1:1/123456789012/notify",
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "DORMOUSE_AUTH": "IAM", "DORMOUSE_TENANT": "acme"}
	maps.Copy(all, more)
	return func(name string) string { return all[name] }
}

func TestAWrongPolicyIsToldWithEverythingElseThatIsWrong(t *testing.T) {
	_, err := awsenv.Read(environment(map[string]string{"DORMOUSE_TABLE": "", "DORMOUSE_POLICY": "allow: [x]\n", "DORMOUSE_PRICES": "openai: {m: 1}\n", "DORMOUSE_TENANT_DAY_COST": "$5"}))
	for _, want := range []string{"DORMOUSE_TABLE is missing", "DORMOUSE_POLICY is not a policy", "DORMOUSE_PRICES is not a price table", "DORMOUSE_TENANT_DAY_COST: write an amount", "allow"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	s, err := awsenv.Read(environment(map[string]string{"DORMOUSE_POLICY": "deny: [pay]\ngroups: {release: [token:anna]}\n"}))
	if err != nil || s.Policy == nil || len(s.Asking.Groups) != 1 {
		t.Errorf("policy %v, %v", s.Policy, err)
	}
}

func TestAPrivateHostThatIsNoneKeepsAFunctionFromStarting(t *testing.T) {
	_, err := awsenv.Read(environment(map[string]string{"DORMOUSE_TABLE": "", "DORMOUSE_PRIVATE_HOSTS": "http://desk"}))
	for _, want := range []string{`DORMOUSE_PRIVATE_HOSTS: "http://desk" is not a host`, "DORMOUSE_TABLE is missing"} {
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("%q is not once in: %v", want, err)
		}
	}
}

func TestAFunctionThatAnswersCallersMustKnowWhoLetsThemIn(t *testing.T) {
	s, err := awsenv.Read(environment(map[string]string{"DORMOUSE_AUTH": ""}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := awsenv.NewFront(s, register, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "DORMOUSE_AUTH") {
		t.Errorf("got %v", err)
	}
}

const desk = `
name: desk
model:
  provider: scripted
  turns:
    - say: Done.
tools:
  - {name: restart, description: Restarts a pump., go: night_shift.restart_pump}
hooks: [night_shift.one_restart]
permissions:
  allow: [restart]
`

// pair is two processes of one stack.
func pair(t *testing.T) (one, other awsenv.Front) {
	t.Helper()
	return pairInto(t, new(bytes.Buffer))
}

// pairInto writes the log lines and metrics of both to out.
func pairInto(t *testing.T, out *bytes.Buffer) (one, other awsenv.Front) {
	t.Helper()
	double := awsdouble.New(awsdouble.Options{})
	server := httptest.NewServer(double)
	t.Cleanup(server.Close)
	wake := "wake"
	queue, err := double.SQS().CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &wake})
	must(t, err)
	_, err = double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("table"))
	must(t, err)
	s, err := awsenv.Read(environment(map[string]string{"AWS_ENDPOINT_URL": server.URL, "DORMOUSE_WAKE_QUEUE_URL": *queue.QueueUrl}))
	must(t, err)
	one, err = awsenv.NewFront(s, register, out)
	must(t, err)
	other, err = awsenv.NewFront(s, register, out)
	must(t, err)
	return one, other
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func deploy(t *testing.T, f awsenv.Front) (version string) {
	t.Helper()
	def, err := agentfile.Parse("desk.yaml", []byte(desk), nil)
	must(t, err)
	must(t, f.Store.PutDefinition(t.Context(), engine.Definition{Tenant: "acme", Name: "desk", Digest: def.Digest(), Body: def.Encode()}))
	must(t, f.Store.Deploy(t.Context(), "acme", "desk", def.Digest()))
	return def.Digest()
}

func TestWhatOneFunctionStoresAnotherReads(t *testing.T) {
	one, other := pair(t)
	version := deploy(t, one)
	caller := frontend.Caller{Tenant: "acme", By: "test"}
	started, err := one.Frontend.Start(t.Context(), caller, "k", wire.StartRequest{Agent: "desk", Input: core.Encode("go")})
	must(t, err)
	read, err := other.Frontend.Run(t.Context(), caller, started.Run.ID)
	if err != nil || read.ID != started.Run.ID {
		t.Errorf("read %+v, %v", read, err)
	}
	made, err := other.Agents.Load(t.Context(), engine.Pin{Tenant: "acme", Name: "desk", Version: version})
	if err != nil || len(made.Offered) != 1 || len(made.Hooks) != 1 {
		t.Errorf("the agent is %+v, %v", made, err)
	}
}

func TestFunctionsOfOneStackSignAlike(t *testing.T) {
	one, other := pair(t)
	keys, err := one.LinkKeys(t.Context())
	must(t, err)
	again, err := other.LinkKeys(t.Context())
	if len(keys) == 0 || err != nil || !cmp.Equal(keys, again) {
		t.Errorf("%d keys and %d, which differ; %v", len(keys), len(again), err)
	}
}
