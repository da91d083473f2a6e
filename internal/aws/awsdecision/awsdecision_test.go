package awsdecision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/people"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsstep"
	"github.com/dormouse-dev/dormouse/internal/aws/awstest"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/proof/oidcdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

const (
	public = "https://desk.example.com"
	tenant = "acme"
)

func register(*tool.Registry, *hook.Registry) error { return nil }

// stand is the functions of a stack that a decision passes, on doubles of AWS and of a provider.
type stand struct {
	*testing.T
	double    *awsdouble.Double
	provider  *oidcdouble.Provider
	env       map[string]string
	step      awsenv.Step
	wake      lambda.Handler
	log       bytes.Buffer
	instances int // of the function under test
	later     atomic.Int64
}

// newStand reads the secret of the provider from the Parameter Store.
func newStand(t *testing.T, change ...string) *stand {
	t.Helper()
	s := &stand{T: t}
	s.double = awsdouble.New(awsdouble.Options{Clock: s.Now})
	var err error
	s.provider, err = oidcdouble.New(public + people.SignedInPath)
	s.must(err)
	t.Cleanup(s.provider.Close)
	services := httptest.NewServer(s.double)
	t.Cleanup(services.Close)
	parameters := httptest.NewServer(http.HandlerFunc(parameter))
	t.Cleanup(parameters.Close)
	_, err = s.double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("table"))
	s.must(err)
	name := "wake"
	queue, err := s.double.SQS().CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	s.must(err)
	s.env = map[string]string{"DORMOUSE_TABLE": "table", "DORMOUSE_WAKE_QUEUE_URL": *queue.QueueUrl, "DORMOUSE_NOTIFY_QUEUE_URL": *queue.QueueUrl,
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": services.URL,
		"DORMOUSE_AUTH": "JWT", "DORMOUSE_TENANT_CLAIM": "org", "DORMOUSE_ROLES_CLAIM": "groups", "DORMOUSE_PUBLIC_URL": public,
		"DORMOUSE_OIDC_ISSUER": s.provider.URL, "DORMOUSE_OIDC_CLIENT_ID": oidcdouble.ClientID, "DORMOUSE_SECRETS_PATH": "/dormouse/test", "AWS_ENDPOINT_URL_SSM": parameters.URL}
	for i := 0; i < len(change); i += 2 {
		s.env[change[i]] = change[i+1]
	}
	s.step, err = awsstep.Open(s.settings(), awsstep.Program{Register: register}, &s.log)
	s.must(err)
	s.step.Clock = s
	s.wake = lambda.NewHandler(awsstep.New(s.step, func() float64 { return 0 }).Handle)
	return s
}

// Now is the time by the queue and by the step function. The function under test has that of the
// machine.
func (s *stand) Now() time.Time { return time.Now().Add(time.Duration(s.later.Load())) }

func (s *stand) AfterFunc(d time.Duration, f func()) (stop func()) {
	return machine.Clock{}.AfterFunc(d, f)
}

// parameter answers for the Parameter Store, which has one.
func parameter(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if !strings.Contains(string(body), `"/dormouse/test/OIDC_CLIENT_SECRET"`) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type": "ParameterNotFound"}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"Parameter": {"Value": %q}}`, oidcdouble.Secret)
}

func (s *stand) settings() awsenv.Settings {
	s.Helper()
	settings, err := awsenv.Read(func(name string) string { return s.env[name] })
	s.must(err)
	return settings
}

func (s *stand) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%v\nthe log:\n%s", err, s.log.String())
	}
}

const desk = awstest.Desk + `groups: {office: ['claim:email=anna@acme.example']}
approvals: {default: {group: office}}
`

// waiting starts a run, and returns it when it waits for an approval, of the office and of more.
func (s *stand) waiting(more ...string) wire.Run {
	s.Helper()
	text := desk
	for _, who := range more {
		text = strings.Replace(text, "groups: {office: [", "groups: {office: ['"+who+"', ", 1)
	}
	awstest.Deploy(s.T, s.step.Store, tenant, text)
	started, err := s.step.NewFrontend().Start(s.Context(), frontend.Caller{Tenant: tenant, By: "token:bob"}, "", wire.StartRequest{Agent: "desk", Input: []byte(`"go"`)})
	s.must(err)
	s.pump()
	run := s.run(started.Run.ID)
	if len(run.Pending) != 1 {
		s.Fatalf("%+v\nthe log:\n%s", run, s.log.String())
	}
	return run
}

func (s *stand) run(id string) wire.Run {
	s.Helper()
	run, err := s.step.NewFrontend().Run(s.Context(), frontend.Caller{Tenant: tenant, By: "test"}, id)
	s.must(err)
	return run
}

// pump performs the steps that are due.
func (s *stand) pump() {
	s.Helper()
	at := s.env["DORMOUSE_WAKE_QUEUE_URL"]
	for range 50 {
		got, err := s.double.SQS().ReceiveMessage(s.Context(), &sqs.ReceiveMessageInput{QueueUrl: &at, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}})
		s.must(err)
		if len(got.Messages) == 0 {
			return
		}
		m := got.Messages[0]
		event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes}}})
		s.must(err)
		_, err = s.wake.Invoke(s.Context(), event)
		s.must(err)
		_, err = s.double.SQS().DeleteMessage(s.Context(), &sqs.DeleteMessageInput{QueueUrl: &at, ReceiptHandle: m.ReceiptHandle})
		s.must(err)
	}
	s.Fatalf("50 messages, and no end\nthe log:\n%s", s.log.String())
}

// browser keeps the cookies of one person.
type browser struct {
	*stand
	cookies map[string]string
	headers map[string]string // instead of those of a program
}

func (s *stand) browser() browser { return browser{stand: s, cookies: map[string]string{}} }

// open hands a request to a new instance of the function, as the gateway does: nothing that an
// earlier one kept in memory is there.
func (b browser) open(method, address, body string, claims map[string]string) events.APIGatewayV2HTTPResponse {
	b.Helper()
	path, query, _ := strings.Cut(strings.TrimPrefix(address, public), "?")
	e := events.APIGatewayV2HTTPRequest{RawPath: path, RawQueryString: query, Body: body,
		Headers: map[string]string{"host": "desk.example.com", "content-type": "application/json"}}
	maps.Copy(e.Headers, b.headers)
	e.RequestContext.HTTP.Method = method
	if claims != nil {
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: claims}}
	}
	for name, value := range b.cookies {
		e.Cookies = append(e.Cookies, name+"="+value)
	}
	b.instances++
	function, err := Open(b.settings(), register, &b.log)
	b.must(err)
	answer, err := function(b.Context(), e)
	b.must(err)
	for _, text := range answer.Cookies {
		c, err := http.ParseSetCookie(text)
		b.must(err)
		if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
			b.Errorf("the cookie %s", text)
		}
		b.cookies[c.Name] = c.Value
	}
	return answer
}

// link makes a link that requires a sign-in.
func (b browser) link(run wire.Run, claims map[string]string) string {
	b.Helper()
	body := fmt.Sprintf(`{"target":%q,"for":"anna@acme.example","require":"sign_in"}`, run.Pending[0].Suspension.ID)
	made := b.open("POST", "/v1/runs/"+run.ID+"/links", body, claims)
	var l wire.Link
	if err := json.Unmarshal([]byte(made.Body), &l); err != nil || made.StatusCode != http.StatusCreated || !strings.HasPrefix(l.Link, public+"/v1/approvals/") {
		b.Fatalf("%d %s %v", made.StatusCode, made.Body, err)
	}
	return l.Link
}

// signIn goes to the provider and back, and returns the last answer.
func (b browser) signIn(link string) events.APIGatewayV2HTTPResponse {
	b.Helper()
	at := b.open("GET", link+"/sign-in", "", nil).Headers["Location"]
	if u, err := url.Parse(at); err != nil || !strings.HasPrefix(at, b.provider.URL+"/") || u.Query().Get("code_challenge_method") != "S256" {
		b.Fatalf("sent to %q\nthe log:\n%s", at, b.log.String())
	}
	stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := stay.Get(at)
	b.must(err)
	resp.Body.Close()
	return b.open("GET", resp.Header.Get("Location"), "", nil)
}

// maker is who makes links, as the authorizer passes the claims.
var maker = map[string]string{"sub": "bob", "org": tenant, "groups": "[link read]"}

func account(more ...any) map[string]any {
	claims := map[string]any{"sub": "u-1", "email": "anna@acme.example", "email_verified": true, "org": tenant, "groups": []string{"staff", "dormouse:decide"}}
	for i := 0; i < len(more); i += 2 {
		claims[more[i].(string)] = more[i+1]
	}
	return claims
}

// A person signs in through a stack of which each request meets another process.
func TestAPersonSignsInOnAWS(t *testing.T) {
	for auth, change := range map[string][]string{"JWT": nil, "IAM": {"DORMOUSE_AUTH", "IAM", "DORMOUSE_TENANT", tenant}} {
		t.Run(auth, func(t *testing.T) {
			s := newStand(t, change...)
			run := s.waiting()
			var link string
			s.env["DORMOUSE_AUTH"] = "JWT"
			link = s.browser().link(run, maker)
			s.env["DORMOUSE_AUTH"] = auth
			s.provider.SignInAs(account())
			b := s.browser()
			if got := b.open("POST", link, `{"action":"resume"}`, nil); got.StatusCode != 401 {
				t.Errorf("before the sign-in: %d %s", got.StatusCode, got.Body)
			}
			if got := b.signIn(link); got.StatusCode != 303 || got.Headers["Location"] != link {
				t.Fatalf("%d %s\n%s", got.StatusCode, got.Body, s.log.String())
			}
			if got := b.open("POST", link, `{"action":"resume"}`, nil); got.StatusCode != 202 {
				t.Fatalf("%d %s\n%s", got.StatusCode, got.Body, s.log.String())
			}
			s.pump()
			var told wire.Outcome
			s.must(json.Unmarshal([]byte(b.open("GET", link, "", nil).Body), &told))
			if done := s.run(run.ID); done.Status != "done" || told.Decision == nil || !strings.HasPrefix(told.Decision.By, "person:anna@acme.example-") {
				t.Errorf("%+v, decided %+v", done, told.Decision)
			}
			if strings.Contains(s.log.String(), oidcdouble.Secret) {
				t.Error("the log has the secret")
			}
		})
	}
}

// With Auth=JWT, who may decide is what the provider says of an account.
func TestAccountsThatMayNotAnswerOnAWS(t *testing.T) {
	s := newStand(t)
	run := s.waiting()
	link := s.browser().link(run, maker)
	for name, claims := range map[string]map[string]any{
		"another tenant": account("org", "other"), "no tenant": account("org", ""), "no role": account("groups", []string{"staff"}),
		"a role that reads": account("groups", []string{"read"}), "a group that has a role in its name": account("groups", []string{"site decide"}), "no subject": account("sub", ""),
	} {
		s.provider.SignInAs(claims)
		b := s.browser()
		if got := b.signIn(link); got.StatusCode != 403 || strings.Contains(got.Body, "org") {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.Body)
		}
		if got := b.open("POST", link, `{"action":"resume"}`, nil); got.StatusCode != 401 {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.Body)
		}
	}
	if now := s.run(run.ID); now.Status != "waiting" {
		t.Errorf("%+v", now)
	}
}

func TestAStackWithoutAProviderSaysWhichParameterSetsOne(t *testing.T) {
	s := newStand(t, "DORMOUSE_OIDC_ISSUER", "", "DORMOUSE_OIDC_CLIENT_ID", "")
	run := s.waiting()
	got := s.browser().open("POST", "/v1/runs/"+run.ID+"/links", fmt.Sprintf(`{"target":%q,"for":"anna","require":"sign_in"}`, run.Pending[0].Suspension.ID), maker)
	if got.StatusCode != 400 || !strings.Contains(got.Body, "SignInIssuer") {
		t.Errorf("%d %s", got.StatusCode, got.Body)
	}
}

// A secret that is missing is told to the operator, and to no one else.
func TestASecretThatIsNotInTheParameterStore(t *testing.T) {
	s := newStand(t, "DORMOUSE_SECRETS_PATH", "/dormouse/other")
	run := s.waiting()
	b := s.browser()
	got := b.open("GET", b.link(run, maker)+"/sign-in", "", nil)
	if got.StatusCode != 503 || strings.Contains(got.Body, "OIDC_CLIENT_SECRET") || !strings.Contains(s.log.String(), "OIDC_CLIENT_SECRET") {
		t.Errorf("%d %s\n%s", got.StatusCode, got.Body, s.log.String())
	}
}

// The links that a webhook was sent end with it.
func TestALinkOfAWebhookThatWasRemoved(t *testing.T) {
	s := newStand(t)
	run := s.waiting()
	expires := time.Now().Add(time.Hour)
	l := engine.Link{Tenant: tenant, Run: run.ID, ID: "lnk_1", Suspension: run.Pending[0].Suspension.ID, Call: run.Pending[0].CallID, Tool: "pay", For: "ops",
		Endpoint: notice.TenantEndpoint + "gone", Made: time.Now().UnixMilli(), Expires: expires.UnixMilli()}
	s.must(s.step.Store.PutLink(t.Context(), l))
	keys, err := s.step.Store.LinkKeys(t.Context())
	s.must(err)
	link := access.LinkPath + access.LinkKeys(keys).Sign(access.Link{ID: l.ID, Tenant: tenant, Run: run.ID, Suspension: l.Suspension, Expires: expires})
	if got := s.browser().open("GET", link, "", nil); got.StatusCode != 410 || !strings.Contains(got.Body, "link_revoked") {
		t.Errorf("%d %s", got.StatusCode, got.Body)
	}
}
