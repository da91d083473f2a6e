package pretraffic_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/awsstep"
	"github.com/dormouse-dev/dormouse/internal/aws/pretraffic"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/queue/sqsqueue"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

const version = "arn:aws:lambda:eu-central-1:123456789012:function:stack-step:7"

// answers is what a version of the step function answers: a payload, and whether it failed.
type answers func(event []byte) (answer []byte, failed bool)

// account is the hook in a stack, with services in front of which are Lambda and CodeDeploy.
type account struct {
	*testing.T
	double   *awsdouble.Double
	step     answers
	invoked  []string // versions
	reported []string
	out      bytes.Buffer
	env      map[string]string
	queues   []string          // URLs
	handled  func(body string) // of a message that is left
	left     []string          // beginnings of the partition keys that are there all the same
	fleet
}

// newAccount has a version that performs steps as it should, under a policy.
func newAccount(t *testing.T, policy string) *account {
	t.Helper()
	a := &account{T: t, double: awsdouble.New(awsdouble.Options{})}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	_, err := a.double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("table"))
	a.must(err)
	for _, name := range []string{"wake", "notify"} {
		made, err := a.double.SQS().CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
		a.must(err)
		a.queues = append(a.queues, *made.QueueUrl)
	}
	a.env = map[string]string{"DORMOUSE_TABLE": "table", "DORMOUSE_WAKE_QUEUE_URL": a.queues[0], "DORMOUSE_NOTIFY_QUEUE_URL": a.queues[1], "AWS_REGION": "eu-central-1",
		"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": server.URL, "DORMOUSE_POLICY": policy,
		"DORMOUSE_NOTICE_TOPIC_ARN": "arn:aws:sns:eu-central-1:123456789012:notices"}
	a.step, a.handled = a.good(), func(body string) { t.Errorf("a message is left: %s", body) }
	return a
}

func (a *account) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatalf("%v\nthe log:\n%s", err, a.out.String())
	}
}

// good is a version of the real step function.
func (a *account) good() answers {
	a.Helper()
	settings, err := awsenv.Read(func(name string) string { return a.env[name] })
	a.must(err)
	parts, err := awsstep.Open(settings, awsstep.Program{Register: func(*tool.Registry, *hook.Registry) error { return nil }}, &a.out)
	a.must(err)
	handler := lambda.NewHandler(awsstep.New(parts, func() float64 { return 0 }).Handle)
	return func(event []byte) ([]byte, bool) {
		ctx, cancel := context.WithTimeout(a.Context(), time.Minute)
		defer cancel()
		answer, err := handler.Invoke(ctx, event)
		return answer, err != nil
	}
}

func (a *account) store() *dynamo.Store {
	return dynamo.New(a.double.DynamoDB(), dynamo.Options{Table: "table", Reads: 256, Clock: machine.Clock{}, Random: machine.Random{}})
}

// ServeHTTP is Lambda, CodeDeploy, or else the double.
func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, function := strings.CutPrefix(r.URL.Path, "/2015-03-31/functions/")
	name, invocation := strings.CutSuffix(path, "/invocations")
	switch target := r.Header.Get("X-Amz-Target"); {
	case a.fleet.serves(w, r):
	case function && invocation:
		a.invoked = append(a.invoked, name)
		event, err := io.ReadAll(r.Body)
		if err != nil {
			a.Error(err)
		}
		a.double.Fail(nil)
		answer, failed := a.step(event)
		a.double.Fail(a.allowed)
		if failed {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
		}
		_, _ = w.Write(answer)
	case strings.HasPrefix(target, "CodeDeploy_20141006."):
		var in map[string]string
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			a.Error(err)
		}
		a.reported = append(a.reported, strings.Join([]string{target[len("CodeDeploy_20141006."):], in["deploymentId"], in["lifecycleEventHookExecutionId"], in["status"]}, " "))
		_, _ = io.WriteString(w, `{}`)
	default:
		a.double.ServeHTTP(w, r)
	}
}

// test lets the hook test the version, and demands that it reports the result once.
func (a *account) test(want string) {
	a.Helper()
	settings, err := stack.Read(func(name string) string { return a.env[name] })
	a.must(err)
	h := pretraffic.Open(settings, version, &a.out)
	a.double.Fail(a.allowed)
	ctx, cancel := context.WithTimeout(a.Context(), 2*time.Minute)
	defer cancel()
	a.must(h.Handle(ctx, pretraffic.Event{DeploymentID: "d-1", HookID: "hook-1"}))
	a.double.Fail(nil)
	if report := "PutLifecycleEventHookExecutionStatus d-1 hook-1 " + want; !slices.Equal(a.reported, []string{report}) {
		a.Errorf("reported %q, not %q\nthe log:\n%s", a.reported, report, a.out.String())
	}
	for _, name := range a.invoked {
		if name != version {
			a.Errorf("%s was invoked", name)
		}
	}
	a.wantNothingLeft()
}

// allowed refuses what the template's role of the hook does not allow, and SQS altogether.
func (a *account) allowed(c awsdouble.Call) awsdouble.Fault {
	own := func(key string) bool {
		return len(key) > 1 && strings.HasPrefix(key[1:], "#"+stack.PreTrafficTenant+"#")
	}
	if c.Service != "dynamodb" || slices.ContainsFunc(c.Keys, func(key string) bool { return !own(key) }) || len(c.Keys) == 0 && c.Operation != "Query" {
		a.Errorf("the hook may not %s %s %q", c.Operation, c.Name, c.Keys)
		return awsdouble.Deny()
	}
	return awsdouble.Fault{}
}

// wantNothingLeft: no run, no notice, no wake-up, nothing that a sweep finds, and no tenant in a
// list.
func (a *account) wantNothingLeft() {
	a.Helper()
	found, err := a.double.DynamoDB().Scan(a.Context(), &dynamodb.ScanInput{TableName: &[]string{"table"}[0]})
	a.must(err)
	for _, it := range found.Items {
		if pk := it["pk"].(*types.AttributeValueMemberS).Value; pk != "A#"+stack.PreTrafficTenant+"#pretraffic" && !slices.ContainsFunc(a.left, func(left string) bool { return strings.HasPrefix(pk, left) }) {
			a.Errorf("%s is left", pk)
		}
	}
	for _, url := range a.queues {
		got, err := a.double.SQS().ReceiveMessage(a.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url})
		a.must(err)
		if len(got.Messages) > 0 {
			a.handled(*got.Messages[0].Body)
		}
	}
	if access.CheckTenant(stack.PreTrafficTenant) == nil {
		a.Error("a caller may be of the tests' tenant")
	}
	if unknown := a.double.Unknown(); len(unknown) > 0 {
		a.Errorf("the double was asked for what it does not know: %q", unknown)
	}
}

func TestAVersionThatPerformsStepsGetsTraffic(t *testing.T) {
	a := newAccount(t, "")
	step := a.step
	a.step = func(event []byte) ([]byte, bool) {
		due, err := a.store().OldestDue(t.Context(), time.Now().Add(10*time.Minute).UnixMilli())
		if err != nil || due != 0 {
			t.Errorf("a sweep finds the run at %d, %v, and gives it to the old version", due, err)
		}
		return step(event)
	}
	a.test("Succeeded")
	if len(a.invoked) != 2 {
		t.Errorf("%d steps: one up to the question, and one to the end", len(a.invoked))
	}
}

// A policy may make the run ask, or ask of other people than the hook is.
func TestThePolicyOfTheStackFailsNoVersion(t *testing.T) {
	for name, policy := range map[string]string{
		"asks":   "ask: [\"*\"]\n",
		"others": "ask:\n  - {tool: \"*\", not_by: starter}\n",
	} {
		t.Run(name, func(t *testing.T) { newAccount(t, policy).test("Succeeded") })
	}
}

// A run whose calls are denied goes on by a wake-up, which the old version may get first. It is
// dropped once the run is deleted.
func TestAPolicyThatDeniesTheCallsFailsNoVersion(t *testing.T) {
	for name, first := range map[string]bool{"alone": false, "the old version is first": true} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t, "deny: [\"*\"]\n")
			old, newer, n := a.step, a.good(), 0
			a.step = func(event []byte) ([]byte, bool) {
				if n++; n == 2 && first {
					old(event)
				}
				return newer(event)
			}
			a.handled = func(body string) {
				event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m", Body: body}}})
				a.must(err)
				if answer, failed := old(event); failed || string(answer) != `{"batchItemFailures":[]}` {
					t.Errorf("its wake-up: %s", answer)
				}
			}
			a.test("Succeeded")
		})
	}
}

func TestAVersionThatBreaksGetsNoTraffic(t *testing.T) {
	for name, broken := range map[string]func(a *account, good answers) answers{
		"it crashes": func(*account, answers) answers {
			return func([]byte) ([]byte, bool) { return []byte(`{"errorType":"Runtime.ExitError"}`), true }
		},
		"it crashes in its second step": func(_ *account, good answers) answers {
			n := 0
			return func(event []byte) ([]byte, bool) {
				if n++; n == 2 {
					return nil, true
				}
				return good(event)
			}
		},
		"it has no right to write": func(a *account, good answers) answers {
			return func(event []byte) ([]byte, bool) {
				a.double.Fail(func(c awsdouble.Call) awsdouble.Fault {
					if c.Operation == "UpdateItem" {
						return awsdouble.Deny()
					}
					return awsdouble.Fault{}
				})
				return good(event)
			}
		},
		"it gives the message back": func(*account, answers) answers {
			return func([]byte) ([]byte, bool) {
				return []byte(`{"batchItemFailures":[{"itemIdentifier":"pretraffic"}]}`), false
			}
		},
		"it does nothing": func(*account, answers) answers {
			return func([]byte) ([]byte, bool) { return []byte(`{"batchItemFailures":[]}`), false }
		},
		"it answers something else": func(*account, answers) answers {
			return func([]byte) ([]byte, bool) { return []byte(`hello`), false }
		},
		"its run ends in an error": func(a *account, _ answers) answers {
			a.env["DORMOUSE_POLICY"] = "block: [\"*\"]\n"
			return a.good()
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t, "")
			a.step = broken(a, a.step)
			a.test("Failed")
		})
	}
}

// A hook that died has left a run, which waits for good. The next one deletes it an hour later, and
// neither the run of a hook that is at work nor that of a caller.
func TestWhatADeadHookHasLeftIsDeleted(t *testing.T) {
	a := newAccount(t, "")
	now := time.Now()
	started := func(tenant string, age time.Duration) (thread string) {
		at := enginetest.AtMilli(now.Add(-age).UnixMilli())
		store := dynamo.New(a.double.DynamoDB(), dynamo.Options{Table: "table", Reads: 256, Clock: at, Random: machine.Random{}})
		front := frontend.New(frontend.Options{Store: store, Catalog: frontendtest.NewCatalog("desk"), Waker: &frontendtest.Waker{}, Clock: at, Random: machine.Random{}})
		run, err := front.Start(t.Context(), frontend.Caller{Tenant: tenant}, "", wire.StartRequest{Agent: "desk", Input: core.Encode("test")})
		a.must(err)
		return run.Run.ThreadID
	}
	gone := []string{started(stack.PreTrafficTenant, 90*24*time.Hour), started(stack.PreTrafficTenant, 61*time.Minute)}
	young, other := started(stack.PreTrafficTenant, 59*time.Minute), started("acme", 2*time.Hour)
	a.left = []string{"T#" + stack.PreTrafficTenant + "#" + young, "T#acme#"}
	a.test("Succeeded")
	for _, thread := range gone {
		if _, err := a.store().Load(t.Context(), stack.PreTrafficTenant, thread); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s is left: %v", thread, err)
		}
	}
	for tenant, thread := range map[string]string{stack.PreTrafficTenant: young, "acme": other} {
		if _, err := a.store().Load(t.Context(), tenant, thread); err != nil {
			t.Errorf("%s of %s: %v", thread, tenant, err)
		}
	}
	if log := a.out.String(); strings.Contains(log, "could not be deleted") {
		t.Error(log)
	}
}

// If another version has the run, the test says nothing about the new one, and begins again.
func TestAnotherVersionThatTakesPartDecidesNothing(t *testing.T) {
	a := newAccount(t, "")
	newer, runs := a.step, map[string]bool{}
	a.step = func(event []byte) ([]byte, bool) {
		var in events.SQSEvent
		a.must(json.Unmarshal(event, &in))
		w, err := sqsqueue.ReadWakeup(in.Records[0].Body)
		a.must(err)
		if runs[w.Thread] = true; len(runs) == 1 {
			now := time.Now().UnixMilli()
			_, err := a.store().Claim(t.Context(), engine.ClaimRequest{Tenant: w.Tenant, Thread: w.Thread, Claim: "other", Now: now, LeaseEnd: now + 60_000, Schema: core.SchemaVersion})
			if err != nil && !errors.Is(err, engine.ErrRefused) {
				t.Error(err)
			}
		}
		return newer(event)
	}
	a.test("Succeeded")
	if len(runs) != 2 || !strings.Contains(a.out.String(), "another version took part") {
		t.Errorf("%d runs\n%s", len(runs), a.out.String())
	}
}
