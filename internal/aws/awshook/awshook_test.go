package awshook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsnotify"
	"github.com/dormouse-dev/dormouse/internal/aws/awsstep"
	"github.com/dormouse-dev/dormouse/internal/aws/awstest"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/proof/slackdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

const (
	gitHubKey = "a-secret-of-at-least-sixteen-bytes"
	tenant    = "acme"
	public    = "https://desk.example.com"
)

// stand is the functions of a stack that a webhook passes, on doubles of AWS and Slack.
type stand struct {
	*testing.T
	double *awsdouble.Double
	slack  *slackdouble.Slack
	step   awsenv.Step
	hook   awsapi.Gateway
	queues map[string]string // URL by name
	handle map[string]lambda.Handler
	log    bytes.Buffer
}

// newStand also reaches the servers of more.
func newStand(t *testing.T, more ...*httptest.Server) *stand {
	t.Helper()
	s := &stand{T: t, slack: slackdouble.New(), queues: map[string]string{}, double: awsdouble.New(awsdouble.Options{})}
	t.Cleanup(s.slack.Close)
	services := httptest.NewServer(s.double)
	t.Cleanup(services.Close)
	_, err := s.double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("table"))
	s.must(err)
	for _, name := range []string{"wake", "notify"} {
		out, err := s.double.SQS().CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
		s.must(err)
		s.queues[name] = *out.QueueUrl
	}
	for name, value := range map[string]string{"HOOK_GITHUB": gitHubKey, "HOOK_SLACK": slackdouble.Key, "SLACK_TOKEN": slackdouble.Token} {
		t.Setenv("DORMOUSE_SECRET_"+name, value)
	}
	env := map[string]string{"DORMOUSE_TABLE": "table", "DORMOUSE_WAKE_QUEUE_URL": s.queues["wake"], "DORMOUSE_NOTIFY_QUEUE_URL": s.queues["notify"],
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": services.URL,
		"DORMOUSE_PRIVATE_HOSTS": strings.TrimPrefix(s.slack.URL, "http://"), "DORMOUSE_PUBLIC_URL": public}
	for _, server := range more {
		env["DORMOUSE_PRIVATE_HOSTS"] += "," + strings.TrimPrefix(server.URL, "http://")
	}
	settings, err := awsenv.Read(func(name string) string { return env[name] })
	s.must(err)
	settings.SlackAPI = s.slack.API()
	register := func(*tool.Registry, *hook.Registry) error { return nil }
	s.step, err = awsstep.Open(settings, awsstep.Program{Register: register}, &s.log)
	s.must(err)
	zero := func() float64 { return 0 }
	deliver, err := awsnotify.Open(settings, register, zero, &s.log)
	s.must(err)
	s.hook, err = Open(settings, register, &s.log)
	s.must(err)
	s.handle = map[string]lambda.Handler{"wake": lambda.NewHandler(awsstep.New(s.step, zero).Handle), "notify": deliver}
	return s
}

func (s *stand) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%v\nthe log:\n%s", err, s.log.String())
	}
}

const desk = awstest.Desk + `notify:
  - {name: chat, on: [suspended], slack: {channel: ` + slackdouble.Channel + `, token: SLACK_TOKEN}}
`

// deploy deploys the agent desk and one hook.
func (s *stand) deploy(name, file string) {
	s.Helper()
	awstest.Deploy(s.T, s.step.Store, tenant, desk)
	s.must(s.step.Store.PutHook(s.Context(), engine.HookFile{Name: name, Tenant: tenant, Text: file}))
}

// send hands a delivery to the function, as the gateway does.
func (s *stand) send(name, body string, h http.Header) events.APIGatewayV2HTTPResponse {
	s.Helper()
	return s.post("/v1/hooks/"+name, body, h)
}

func (s *stand) post(path, body string, h http.Header) events.APIGatewayV2HTTPResponse {
	s.Helper()
	e := events.APIGatewayV2HTTPRequest{RawPath: path, Body: body, Headers: map[string]string{"host": "desk.example.com"}}
	e.RequestContext.HTTP.Method = "POST"
	for header := range h {
		e.Headers[strings.ToLower(header)] = h.Get(header)
	}
	r, err := s.hook(s.Context(), e)
	s.must(err)
	return r
}

// pump hands the messages of a queue to its function until there are none.
func (s *stand) pump(queue string) {
	s.Helper()
	at := s.queues[queue]
	for range 50 {
		got, err := s.double.SQS().ReceiveMessage(s.Context(), &sqs.ReceiveMessageInput{QueueUrl: &at, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}})
		s.must(err)
		if len(got.Messages) == 0 {
			return
		}
		m := got.Messages[0]
		event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes}}})
		s.must(err)
		answer, err := s.handle[queue].Invoke(s.Context(), event)
		s.must(err)
		if strings.Contains(string(answer), "itemIdentifier") {
			s.Fatalf("a message of %s comes again: %s\nthe log:\n%s", queue, answer, s.log.String())
		}
		_, err = s.double.SQS().DeleteMessage(s.Context(), &sqs.DeleteMessageInput{QueueUrl: &at, ReceiptHandle: m.ReceiptHandle})
		s.must(err)
	}
	s.Fatalf("50 messages, and no end\nthe log:\n%s", s.log.String())
}

func (s *stand) run(id string) wire.Run {
	s.Helper()
	run, err := s.step.NewFrontend().Run(s.Context(), frontend.Caller{Tenant: tenant, By: "test"}, id)
	s.must(err)
	return run
}

const gitHubHook = "verify: {scheme: github, secret: HOOK_GITHUB}\nwhen: action == \"opened\"\nstart: {agent: desk, input: 'Refund {issue.title}'}\n"

func gitHub(key, body string) http.Header {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	return http.Header{"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}
}

func TestADeliveryStartsARunOnce(t *testing.T) {
	s := newStand(t)
	s.deploy("issues", gitHubHook)
	const opened = `{"action":"opened","issue":{"title":"order 7"}}`
	var first, second wire.HookAnswer
	for _, into := range []*wire.HookAnswer{&first, &second} {
		got := s.send("issues", opened, gitHub(gitHubKey, opened))
		if got.StatusCode != 200 {
			t.Fatalf("%d %s\n%s", got.StatusCode, got.Body, s.log.String())
		}
		s.must(json.Unmarshal([]byte(got.Body), into))
	}
	if first.Replayed || !second.Replayed || first.RunID == "" || first.RunID != second.RunID {
		t.Errorf("%+v, and then %+v", first, second)
	}
	if run := s.run(first.RunID); run.StartedBy == nil || run.StartedBy.By != "hook:issues" {
		t.Errorf("%+v", run)
	}
	s.pump("wake")
	if run := s.run(first.RunID); run.Status != "waiting" {
		t.Errorf("%+v\n%s", run, s.log.String())
	}
}

func TestWhatIsNotOfADeployedHookIsRefused(t *testing.T) {
	s := newStand(t)
	s.deploy("issues", gitHubHook)
	const opened = `{"action":"opened","issue":{"title":"order 7"}}`
	s.must(s.step.Store.PutHook(t.Context(), engine.HookFile{Name: "wrong", Tenant: tenant, Text: "verify: {scheme: wax}\n"}))
	s.must(s.step.Store.PutHook(t.Context(), engine.HookFile{Name: "unset", Tenant: tenant, Text: strings.Replace(gitHubHook, "HOOK_GITHUB", "HOOK_OTHER", 1)}))
	s.must(s.step.Store.PutHook(t.Context(), engine.HookFile{Name: "gone", Tenant: tenant, Text: gitHubHook}))
	s.must(s.step.Store.RemoveHook(t.Context(), tenant, "gone"))
	for name, tt := range map[string]struct {
		hook   string
		header http.Header
		status int
		code   string
	}{
		"another key":      {"issues", gitHub("another-secret-of-sixteen", opened), 401, "invalid_signature"},
		"no signature":     {"issues", nil, 401, "invalid_signature"},
		"no such hook":     {"other", gitHub(gitHubKey, opened), 404, "hook_not_found"},
		"a removed hook":   {"gone", gitHub(gitHubKey, opened), 404, "hook_not_found"},
		"a wrong file":     {"wrong", gitHub(gitHubKey, opened), 503, "hook_unavailable"},
		"a missing secret": {"unset", gitHub(gitHubKey, opened), 503, "hook_unavailable"},
	} {
		if got := s.send(tt.hook, opened, tt.header); got.StatusCode != tt.status || !strings.Contains(got.Body, `"`+tt.code+`"`) {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.Body)
		}
	}
	if n := s.double.Requests()["SendMessage"]; n != 0 {
		t.Errorf("%d wake-ups were sent, so something was started", n)
	}
}

func TestAButtonInSlackDecidesOnAWS(t *testing.T) {
	s := newStand(t)
	s.deploy("slack", "verify: {scheme: slack, secret: HOOK_SLACK}\nslack_app: {token: SLACK_TOKEN, team: "+slackdouble.Team+"}\n")
	started, err := s.step.NewFrontend().Start(t.Context(), frontend.Caller{Tenant: tenant, By: "test"}, "", wire.StartRequest{Agent: "desk", Input: core.Encode("Refund order 7")})
	s.must(err)
	s.pump("wake")
	s.pump("notify")
	if n := len(s.slack.State().Messages); n != 1 {
		t.Fatalf("%d messages ask\n%s", n, s.log.String())
	}
	m := s.slack.State().Messages[0]
	body := s.slack.Press("U0ANNA", m, m.Button("dormouse_approve"))
	for range 2 {
		if got := s.send("slack", body, slackdouble.Sign(slackdouble.Key, time.Now(), body)); got.StatusCode != 200 || got.Body != "" {
			t.Fatalf("%d %s\n%s", got.StatusCode, got.Body, s.log.String())
		}
	}
	s.pump("wake")
	if run := s.run(started.Run.ID); run.Status != "done" || run.Error != nil {
		t.Fatalf("%+v\n%s", run, s.log.String())
	}
	s.pump("notify")
	now := s.slack.State()
	if len(now.Messages) != 1 || now.Messages[0].Text != "Approved by hook:slack/U0ANNA: pay" || len(now.Faults) > 0 {
		t.Errorf("%+v", now)
	}
	if text := s.log.String(); strings.Contains(text, slackdouble.Token) || strings.Contains(text, slackdouble.Key) {
		t.Error("the log has a secret")
	}
}
