package awsnotify

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsstep"
	"github.com/dormouse-dev/dormouse/internal/aws/awstest"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

const pagerKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// stand is both functions of a stack, on a double of the services, with a receiver of webhooks and
// one of events.
type stand struct {
	*testing.T
	double *awsdouble.Double
	clock  *enginetest.Clock
	queues map[string]string // URL by name
	step   awsenv.Step
	notify awsenv.Notify
	handle map[string]func(events.SQSEvent) events.SQSEventResponse // by queue
	log    bytes.Buffer
	pager  string // URL of the receiver
	env    map[string]string
	// as Lambda invokes it
	function lambda.Handler

	mu       sync.Mutex
	statuses []int // of the receiver's next answers; then 204
	hooks    []client.Notice
	buses    []string // bodies of requests to EventBridge
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{T: t, clock: enginetest.AtMilli(1_900_000_000_000), queues: map[string]string{}}
	s.double = awsdouble.New(awsdouble.Options{Clock: s.clock.Now})
	services := httptest.NewServer(s.double)
	t.Cleanup(services.Close)
	pager, bus := httptest.NewServer(http.HandlerFunc(s.hook)), httptest.NewServer(http.HandlerFunc(s.event))
	t.Cleanup(pager.Close)
	t.Cleanup(bus.Close)
	_, err := s.double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("table"))
	s.must(err)
	for _, name := range []string{"wake", "notify"} {
		out, err := s.double.SQS().CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
		s.must(err)
		s.queues[name] = *out.QueueUrl
	}
	t.Setenv("DORMOUSE_SECRET_PAGER_KEY", pagerKey)
	at, err := url.Parse(pager.URL)
	s.must(err)
	s.env = map[string]string{"DORMOUSE_TABLE": "table", "DORMOUSE_WAKE_QUEUE_URL": s.queues["wake"], "DORMOUSE_NOTIFY_QUEUE_URL": s.queues["notify"],
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": services.URL, "DORMOUSE_PRIVATE_HOSTS": at.Host,
		"AWS_ENDPOINT_URL_EVENTBRIDGE": bus.URL, "DORMOUSE_EVENT_BUS": "ops", "DORMOUSE_NOTICE_KINDS": "suspended", "DORMOUSE_PUBLIC_URL": "https://desk.example.com",
		"DORMOUSE_AUTH": "JWT", "DORMOUSE_TENANT_CLAIM": "tenant", "DORMOUSE_ROLES_CLAIM": "roles"}
	s.open(s.env)
	s.pager = pager.URL
	s.deploy(s.pager)
	return s
}

// open assembles the functions from their environment.
func (s *stand) open(env map[string]string) {
	s.Helper()
	settings, err := awsenv.Read(func(name string) string { return env[name] })
	s.must(err)
	register := func(*tool.Registry, *hook.Registry) error { return nil }
	s.step, err = awsstep.Open(settings, awsstep.Program{Register: register}, &s.log)
	s.must(err)
	s.notify, err = awsenv.NewNotify(settings, register, &s.log)
	s.must(err)
	s.step.Clock, s.notify.Clock = s.clock, s.clock
	zero := func() float64 { return 0 }
	to := endpoints(s.notify)
	tests, err := tests(s.notify, to)
	s.must(err)
	step, deliver := awsstep.New(s.step, zero), New(s.notify, to, zero)
	s.function = function{lambda.NewHandler(deliver.Handle), lambda.NewHandler(tests)}
	s.handle = map[string]func(events.SQSEvent) events.SQSEventResponse{
		"wake": func(e events.SQSEvent) events.SQSEventResponse {
			r, err := step.Handle(s.Context(), e)
			s.must(err)
			return r
		},
		"notify": func(e events.SQSEvent) events.SQSEventResponse {
			r, err := deliver.Handle(s.Context(), e)
			s.must(err)
			return r
		}}
}

func (s *stand) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%v\nthe log:\n%s", err, s.log.String())
	}
}

func (s *stand) deploy(pager string) {
	s.Helper()
	awstest.Deploy(s.T, s.step.Store, "acme", awstest.Desk+`notify:
  - {name: pager, on: [suspended], url: "`+pager+`/hook", secret: PAGER_KEY, allow_private: true}
`)
}

// hook is the receiver. It takes only what is signed.
func (s *stand) hook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	key, keyErr := signature.Key(signature.Standard, pagerKey)
	_, signErr := signature.Verify(signature.Standard, r.Header.Get, body, s.clock.Now(), key)
	var n client.Notice
	if decodeErr := json.Unmarshal(body, &n); err != nil || keyErr != nil || signErr != nil || decodeErr != nil {
		s.Errorf("a bad request: %v, %v, %v, %v", err, keyErr, signErr, decodeErr)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := http.StatusNoContent
	if len(s.statuses) > 0 {
		status, s.statuses = s.statuses[0], s.statuses[1:]
	}
	s.hooks = append(s.hooks, n)
	w.WriteHeader(status)
}

// event stands for EventBridge.
func (s *stand) event(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if target := r.Header.Get("X-Amz-Target"); err != nil || target != "AWSEvents.PutEvents" {
		s.Errorf("a bad request for %q: %v", target, err)
	}
	s.mu.Lock()
	s.buses = append(s.buses, string(body))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_, _ = io.WriteString(w, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
}

// pump hands the visible messages of a queue to its function, as the platform does. It returns how
// many come again.
func (s *stand) pump(queue string) (again int) {
	s.Helper()
	for range 50 {
		at := s.queues[queue]
		got, err := s.double.SQS().ReceiveMessage(s.Context(), &sqs.ReceiveMessageInput{QueueUrl: &at, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}})
		s.must(err)
		if len(got.Messages) == 0 {
			return again
		}
		m := got.Messages[0]
		r := s.handle[queue](events.SQSEvent{Records: []events.SQSMessage{{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes}}})
		if len(r.BatchItemFailures) > 0 {
			again++
			continue
		}
		_, err = s.double.SQS().DeleteMessage(s.Context(), &sqs.DeleteMessageInput{QueueUrl: &at, ReceiptHandle: m.ReceiptHandle})
		s.must(err)
	}
	s.Fatalf("50 messages, and no end\nthe log:\n%s", s.log.String())
	return again
}

// suspend starts a run and lets it suspend.
func (s *stand) suspend() wire.Run {
	s.Helper()
	started, err := s.step.NewFrontend().Start(s.Context(), frontend.Caller{Tenant: "acme", By: "test"}, "", wire.StartRequest{Agent: "desk", Input: core.Encode("Refund order 7")})
	s.must(err)
	s.pump("wake")
	return started.Run
}

func TestASuspensionReachesTheReceiverAndTheBus(t *testing.T) {
	s := newStand(t)
	s.statuses = []int{http.StatusServiceUnavailable}
	run := s.suspend()
	s.pump("notify")
	if len(s.hooks) != 1 || len(s.buses) != 1 {
		t.Fatalf("%d webhooks, %d events\n%s", len(s.hooks), len(s.buses), s.log.String())
	}
	s.clock.Advance(10 * time.Second) // the receiver was down; the next attempt is due
	s.pump("notify")
	if len(s.hooks) != 2 || s.hooks[0].ID != s.hooks[1].ID {
		t.Fatalf("the receiver got %+v\n%s", s.hooks, s.log.String())
	}
	n := s.hooks[1]
	if n.Type != client.NoticeSuspended || n.Run == nil || n.Run.ID != run.ID || n.Approval == nil || n.Links == nil || !strings.HasPrefix(n.Links.Approve, "https://desk.example.com/") {
		t.Errorf("the receiver got %+v", n)
	}
	for _, want := range []string{`"EventBusName":"ops"`, `"DetailType":"dormouse.suspended"`, n.ID} {
		if !strings.Contains(s.buses[0], want) {
			t.Errorf("the bus got %s, without %s", s.buses[0], want)
		}
	}
	if strings.Contains(s.buses[0], "desk.example.com") {
		t.Errorf("the bus got links: %s", s.buses[0])
	}
	s.clock.Advance(time.Hour)
	s.must(sweeper.Sweep(t.Context(), s.notify.Store, s.notify.Waker, s.clock, time.Minute))
	if s.pump("notify"); len(s.hooks) != 2 || len(s.buses) != 1 {
		t.Errorf("what was delivered is sent again: %d webhooks, %d events", len(s.hooks), len(s.buses))
	}
}

// Keys are read again after a minute, so that a new key signs soon.
func TestTheKeysOfLinksAreNotReadAtEachAttempt(t *testing.T) {
	s := newStand(t)
	reads := 0
	s.double.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "GetItem" && strings.Contains(c.Key, "K#links") {
			reads++
		}
		return awsdouble.Fault{}
	})
	s.statuses = []int{http.StatusServiceUnavailable, http.StatusServiceUnavailable}
	s.suspend()
	for i, tt := range []struct {
		after time.Duration
		again bool // the keys are read
	}{{0, true}, {10 * time.Second, false}, {2 * time.Minute, true}} {
		s.clock.Advance(tt.after)
		before := reads
		if s.pump("notify"); len(s.hooks) != i+1 || s.hooks[i].Links == nil {
			t.Fatalf("the receiver got %+v\n%s", s.hooks, s.log.String())
		}
		if (reads > before) != tt.again {
			t.Errorf("attempt %d read the keys %d times", i+1, reads-before)
		}
	}
}

// A function that is killed after it has sent a notice has recorded nothing.
func TestAKilledDeliveryIsTakenOverWithTheSameID(t *testing.T) {
	s := newStand(t)
	s.suspend()
	s.double.Fail(func(c awsdouble.Call) awsdouble.Fault {
		s.mu.Lock()
		defer s.mu.Unlock()
		if sent := len(s.hooks) > 0; sent && c.Service == "dynamodb" && (c.Operation == "PutItem" || c.Operation == "UpdateItem") {
			return awsdouble.Deny()
		}
		return awsdouble.Fault{}
	})
	if again := s.pump("notify"); again == 0 || len(s.hooks) != 1 {
		t.Fatalf("%d come again, the receiver got %+v\n%s", again, s.hooks, s.log.String())
	}
	s.double.Fail(nil)
	s.clock.Advance(10 * time.Second)
	if s.pump("notify"); len(s.hooks) != 1 {
		t.Fatalf("the receiver got %+v while the claim of the first lasts", s.hooks)
	}
	s.clock.Advance(5 * time.Minute)
	s.must(sweeper.Sweep(t.Context(), s.notify.Store, s.notify.Waker, s.clock, time.Minute))
	if s.pump("notify"); len(s.hooks) != 2 || s.hooks[0].ID != s.hooks[1].ID || len(s.buses) != 1 {
		t.Errorf("the receiver got %+v, the bus %d\n%s", s.hooks, len(s.buses), s.log.String())
	}
}

// A request for a test notice comes to the function that has the keys, by the HTTP API.
func TestATestNoticeIsSentForARequest(t *testing.T) {
	s := newStand(t)
	s.statuses = []int{http.StatusNoContent, http.StatusServiceUnavailable}
	pager := notice.Webhook{Tenant: "acme", ID: "wh_pager", Rev: 1, Target: notice.Target{URL: s.pager + "/hook", Secret: "PAGER_KEY", AllowPrivate: true}}
	s.must(s.notify.Store.PutWebhook(t.Context(), pager))
	for _, tt := range []struct {
		tenant, role, id string
		status           int
		body             string
	}{
		{"acme", "admin", "wh_pager", 200, `"status":204`},
		{"acme", "admin", "wh_pager", 200, `"status":503`},
		{"acme", "read", "wh_pager", 403, `"role_required"`},
		{"acme", "admin", "wh_other", 404, `"webhook_not_found"`},
		{"other", "admin", "wh_pager", 404, `"webhook_not_found"`},
	} {
		e := events.APIGatewayV2HTTPRequest{RawPath: "/v1/webhooks/" + tt.id + "/test", Headers: map[string]string{"host": "desk.example.com"}}
		e.RequestContext.HTTP.Method = "POST"
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{
			Claims: map[string]string{"sub": "ann", "tenant": tt.tenant, "roles": tt.role}}}
		payload, err := json.Marshal(e)
		s.must(err)
		answer, err := s.function.Invoke(t.Context(), payload)
		s.must(err)
		var got events.APIGatewayV2HTTPResponse
		s.must(json.Unmarshal(answer, &got))
		if got.StatusCode != tt.status || !strings.Contains(got.Body, tt.body) {
			t.Errorf("%+v: %d %s", tt, got.StatusCode, got.Body)
		}
	}
	if len(s.hooks) != 2 || s.hooks[0].Type != client.NoticeTest || s.hooks[0].Tenant != "acme" {
		t.Errorf("the receiver got %+v", s.hooks)
	}
}
