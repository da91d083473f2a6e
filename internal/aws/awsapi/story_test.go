package awsapi_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/protocols"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

const streamURL = "https://streams.example"

// deployed is the three functions on one table, and an engine that works when it is told to.
type deployed struct {
	t               *testing.T
	runs, decisions awsapi.Gateway
	streams         awsapi.URL
	engine          *engine.Engine
	wake            *wakeups
	double          *awsdouble.Double
	options         awsapi.Options
	log             *safeBuffer
}

// wakeups keeps what was sent until the test lets the engine work.
type wakeups struct {
	mu   sync.Mutex
	sent []engine.Wakeup
}

func (w *wakeups) Send(_ context.Context, one engine.Wakeup, _ time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, one)
	return nil
}

func (w *wakeups) take() (one engine.Wakeup, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.sent) == 0 {
		return one, false
	}
	one, w.sent = w.sent[0], w.sent[1:]
	return one, true
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func deploy(t *testing.T, granted stack.Access) *deployed {
	t.Helper()
	double := awsdouble.New(awsdouble.Options{})
	client := dynamodb.NewFromConfig(double.Config(), dynamo.Retries())
	if _, err := client.CreateTable(t.Context(), dynamo.Schema("stack")); err != nil {
		t.Fatal(err)
	}
	store := dynamo.New(client, dynamo.Options{Table: "stack", Clock: machine.Clock{}, Random: machine.Random{}})
	d := &deployed{t: t, double: double, wake: &wakeups{}, log: &safeBuffer{}}
	log := slog.New(slog.NewJSONHandler(d.log, nil))
	tools := tool.NewRegistry(log)
	if err := binding.New(refunddesk.Program()).Tools(tools, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	agents := program.NewAgents(store, program.Program{Tools: tools, Dir: "../../../examples/refund-desk", Clock: machine.Clock{}})
	for _, tenant := range []string{"acme", "zoo"} {
		if _, err := agents.Deploy(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
	}
	d.engine = engine.New(engine.Options{Store: store, Waker: d.wake, Agents: agents, Clock: machine.Clock{}, Random: machine.Random{}, Logger: slog.New(slog.DiscardHandler)})
	front := frontend.New(frontend.Options{Store: store, Links: store, Catalog: agents.Catalog(), Waker: d.wake, Clock: machine.Clock{}, Random: machine.Random{},
		Describe: agents.Describe, Check: agents.Check, Starters: agents.Starters, Narrow: agents.Narrow})
	reads := query.New(front)
	d.serve(awsapi.Options{Clock: machine.Clock{}, Access: granted, Links: store.LinkKeys, Version: "v1", Logger: log, Frontend: front,
		Protocols: func(keys access.LinkSource) []httpapi.Protocol {
			return protocols.All(protocols.Server{Runs: front, Reads: reads, Inbox: reads, Clock: machine.Clock{}, Version: "v1", Keys: keys})
		}})
	return d
}

func (d *deployed) serve(o awsapi.Options) {
	d.t.Helper()
	d.options = o
	var err1, err2, err3 error
	d.runs, err1 = awsapi.Runs(o)
	d.decisions, err2 = awsapi.Decisions(o)
	d.streams, err3 = awsapi.Streams(o)
	if err1 != nil || err2 != nil || err3 != nil {
		d.t.Fatal(err1, err2, err3)
	}
}

// work lets the engine do all there is to do.
func (d *deployed) work() {
	d.t.Helper()
	for {
		w, ok := d.wake.take()
		if !ok {
			return
		}
		if _, err := d.engine.Step(d.t.Context(), w); err != nil {
			d.t.Fatal(err)
		}
	}
}

func read[E any](t *testing.T, file string) (e E) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../api/lambdahttp/testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

type asked = events.APIGatewayV2HTTPRequest

// ask is an event of the gateway: by ann, unless change says otherwise.
func (d *deployed) ask(to awsapi.Gateway, method, path, body string, change ...func(*asked)) events.APIGatewayV2HTTPResponse {
	d.t.Helper()
	e := read[asked](d.t, "start-jwt.json")
	e.RequestContext.HTTP.Method, e.Body = method, body
	e.RawPath, e.RawQueryString, _ = strings.Cut(path, "?")
	delete(e.Headers, "idempotency-key")
	for _, c := range change {
		c(&e)
	}
	got, err := to(d.t.Context(), e)
	if err != nil {
		d.t.Fatal(err)
	}
	return got
}

func linker(e *asked) { e.RequestContext.Authorizer.JWT.Claims["cognito:groups"] = "[link]" }

func byNobody(e *asked) { e.RequestContext.Authorizer = nil }

func header(name, value string) func(*asked) { return func(e *asked) { e.Headers[name] = value } }

func decoded[T any](t *testing.T, r events.APIGatewayV2HTTPResponse, status int) (v T) {
	t.Helper()
	if r.StatusCode != status {
		t.Fatalf("%d %s, want %d", r.StatusCode, r.Body, status)
	}
	if err := json.Unmarshal([]byte(r.Body), &v); err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
	return v
}

// stream is what the streaming function answers at an address that a redirect gave.
func (d *deployed) stream(location string) (status int, text string) {
	d.t.Helper()
	u, err := url.Parse(location)
	if err != nil {
		d.t.Fatal(err)
	}
	e := read[events.LambdaFunctionURLRequest](d.t, "stream-url.json")
	e.RawPath, e.RawQueryString = u.EscapedPath(), u.RawQuery
	got, err := d.streams(d.t.Context(), e)
	if err != nil {
		d.t.Fatal(err)
	}
	defer got.Close()
	raw, err := io.ReadAll(got)
	if err != nil {
		d.t.Fatal(err)
	}
	_, body, _ := bytes.Cut(raw, make([]byte, 8))
	return got.StatusCode, string(body)
}

// The agent behind an ask is part of the program: nothing deployed it to this stack.
func TestAnAskThroughTheFunctionsOfAStack(t *testing.T) {
	d := deploy(t, withJWT)
	asks := decoded[wire.Ask](t, d.ask(d.runs, "POST", "/v1/asks", `{"title":"Deploy 4.2?","arguments":{"version":"4.2"},"approvers":["token:ann"],"deadline":"1h"}`), 202)
	d.work()
	waits := decoded[wire.Ask](t, d.ask(d.runs, "GET", "/v1/asks/"+asks.ID, ""), 200)
	decision := `{"target":"` + waits.Suspension + `","action":"resume","arguments":{"version":"4.1"}}`
	other := func(e *asked) { e.RequestContext.Authorizer.JWT.Claims["sub"] = "bob" }
	if got := d.ask(d.decisions, "POST", "/v1/runs/"+asks.ID+"/decisions", decision, other); got.StatusCode != 403 {
		t.Fatalf("%d %s", got.StatusCode, got.Body)
	}
	if got := d.ask(d.decisions, "POST", "/v1/runs/"+asks.ID+"/decisions", decision); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.Body)
	}
	d.work()
	done := decoded[wire.Ask](t, d.ask(d.runs, "GET", "/v1/asks/"+asks.ID, "", header("prefer", "wait=20")), 200)
	if done.Status != "approved" || string(done.Arguments) != `{"version":"4.1"}` || done.DecidedBy != "token:ann" || done.Title != "Deploy 4.2?" || done.Deadline == nil {
		t.Errorf("%+v", done)
	}
}

var withJWT = stack.Access{Auth: stack.JWT, TenantClaim: "custom:tenant", RolesClaim: "cognito:groups", StreamURL: streamURL}

func TestARunThroughTheFunctionsOfAStack(t *testing.T) {
	d := deploy(t, withJWT)
	run := decoded[wire.Run](t, d.ask(d.runs, "POST", "/v1/runs", `{"agent":"refund-desk","input":"Refund order A-17"}`, header("idempotency-key", "k1")), 202)
	again := decoded[wire.Run](t, d.ask(d.runs, "POST", "/v1/runs", `{"agent":"refund-desk","input":"Refund order A-17"}`, header("idempotency-key", "k1")), 200)
	if again.ID != run.ID {
		t.Errorf("the same key started %s and %s", run.ID, again.ID)
	}
	d.work()
	if now := decoded[wire.Run](t, d.ask(d.runs, "GET", "/v1/runs/"+run.ID, "", header("prefer", "wait=20")), 200); now.Status != "waiting" {
		t.Fatalf("%+v", now)
	}
	inbox := decoded[wire.Page[wire.Approval]](t, d.ask(d.decisions, "GET", "/v1/approvals", ""), 200)
	if len(inbox.Items) != 1 {
		t.Fatalf("%+v", inbox)
	}
	link := decoded[wire.Link](t, d.ask(d.decisions, "POST", "/v1/runs/"+run.ID+"/links", `{"target":"`+inbox.Items[0].Suspension.ID+`","for":"anna"}`, linker), 201).Link
	page := d.ask(d.decisions, "GET", link, "", byNobody, header("accept", "text/html"))
	if page.StatusCode != 200 || !strings.Contains(page.Body, "<form") || page.Headers["Referrer-Policy"] != "same-origin" {
		t.Fatalf("%d %s", page.StatusCode, page.Body)
	}
	form := func(e *asked) {
		byNobody(e)
		e.Headers["content-type"], e.Headers["origin"] = "application/x-www-form-urlencoded", "https://"+e.Headers["host"]
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte("action=resume&reason=fine&shown="+inbox.Items[0].Fingerprint)), true
	}
	if got := d.ask(d.decisions, "POST", link, "", form); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.Body)
	}
	d.work()
	done := decoded[wire.Run](t, d.ask(d.runs, "GET", "/v1/runs/"+run.ID, "", header("prefer", "wait=20")), 200)
	if done.Status != "done" || done.Error != nil {
		t.Fatalf("%+v", done)
	}
	sent := d.ask(d.runs, "GET", "/v1/runs/"+run.ID+"/events?follow=true", "", header("accept", "text/event-stream"))
	location := sent.Headers["Location"]
	if sent.StatusCode != 307 || !strings.HasPrefix(location, streamURL+"/v1/streams/") {
		t.Fatalf("%d %v", sent.StatusCode, sent.Headers)
	}
	if status, text := d.stream(location); status != 200 || !strings.Contains(text, `"by":"link:anna"`) || !strings.Contains(text, `"minted_by":"token:ann"`) || !strings.Contains(text, "event: run.status") {
		t.Errorf("%d %s", status, text)
	}
	for _, secret := range []string{strings.TrimPrefix(link, "/v1/approvals/"), strings.TrimPrefix(location, streamURL), "A-17", "eyJ", "follow=true"} {
		if strings.Contains(d.log.String(), secret) {
			t.Errorf("the log says %q", secret)
		}
	}
	if lines := strings.Count(d.log.String(), `"msg":"request"`); lines != 10 {
		t.Errorf("%d requests, want 10:\n%s", lines, d.log.String())
	}
}

func TestEachFunctionServesItsPartAndAsksItsAuthorizer(t *testing.T) {
	byJWT := func(*asked) {}
	byIAM := func(e *asked) {
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: "arn:aws:iam::123456789012:user/ann"}}
	}
	strayed := func(e *asked) { delete(e.RequestContext.Authorizer.JWT.Claims, "custom:tenant") }
	for name, tt := range map[string]struct {
		access stack.Access
		by     func(*asked)
		status int
	}{
		"JWT, by JWT":                      {withJWT, byJWT, 200},
		"JWT, by IAM":                      {withJWT, byIAM, 401},
		"JWT, by nobody":                   {withJWT, byNobody, 401},
		"JWT, by somebody of no tenant":    {withJWT, strayed, 403},
		"IAM, by IAM":                      {stack.Access{Auth: stack.IAM, Tenant: "acme"}, byIAM, 200},
		"IAM, by JWT":                      {stack.Access{Auth: stack.IAM, Tenant: "acme"}, byJWT, 401},
		"IAM, of a stack without a tenant": {stack.Access{Auth: stack.IAM}, byIAM, 403},
		"no authorizer set up":             {stack.Access{}, byJWT, 401},
	} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t, tt.access)
			if got := d.ask(d.runs, "GET", "/v1/agents", "", tt.by); got.StatusCode != tt.status {
				t.Errorf("agents: %d %s", got.StatusCode, got.Body)
			}
			if got := d.ask(d.decisions, "GET", "/v1/approvals", "", tt.by); got.StatusCode != tt.status {
				t.Errorf("approvals: %d %s", got.StatusCode, got.Body)
			}
			if got := d.ask(d.runs, "GET", "/healthz", "", byNobody); got.StatusCode != 200 {
				t.Errorf("health: %d %s", got.StatusCode, got.Body)
			}
			if got := d.ask(d.runs, "GET", "/v1/approvals", "", tt.by); got.StatusCode == 200 {
				t.Errorf("approvals where they are not served: %d", got.StatusCode)
			}
			for _, path := range []string{"/v1/agents", "/v1/runs/run_x_0/events", "/healthz", "/v1/approvals"} {
				if status, text := d.stream(streamURL + path); status != 404 {
					t.Errorf("%s at the URL of streams: %d %s", path, status, text)
				}
			}
		})
	}
}

func TestWithoutAStreamURLAStreamEndsWithWhatIsThere(t *testing.T) {
	access := withJWT
	access.StreamURL = ""
	d := deploy(t, access)
	run := decoded[wire.Run](t, d.ask(d.runs, "POST", "/v1/runs", `{"agent":"refund-desk","input":"Refund order A-17"}`), 202)
	d.work()
	got := d.ask(d.runs, "GET", "/v1/runs/"+run.ID+"/events?follow=true", "", header("accept", "text/event-stream"))
	if got.StatusCode != http.StatusOK || got.Headers["Content-Type"] != "text/event-stream" || !strings.Contains(got.Body, "event: call.suspended") {
		t.Errorf("%d %v %s", got.StatusCode, got.Headers, got.Body)
	}
}

func TestAFollowedStreamEndsBehindAWholeEventBeforeItsInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, withJWT)
		run := decoded[wire.Run](t, d.ask(d.runs, "POST", "/v1/runs", `{"agent":"refund-desk","input":"Refund order A-17"}`), 202)
		d.work()
		sent := d.ask(d.runs, "GET", "/v1/runs/"+run.ID+"/events?follow=true", "", header("accept", "text/event-stream"))
		u, err := url.Parse(sent.Headers["Location"])
		if err != nil {
			t.Fatal(err)
		}
		e := read[events.LambdaFunctionURLRequest](t, "stream-url.json")
		e.RawPath, e.RawQueryString = u.EscapedPath(), u.RawQuery
		// of which the stream has one
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		got, err := d.streams(ctx, e)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Close()
		raw, err := io.ReadAll(got)
		if err != nil || ctx.Err() != nil || !bytes.HasSuffix(raw, []byte("\n\n")) || !bytes.Contains(raw, []byte("event: call.suspended")) {
			t.Errorf("%v, %v: %s", err, ctx.Err(), raw)
		}
	})
}

func TestAHeldReadIsAnsweredBeforeItsInvocationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, withJWT)
		run := decoded[wire.Run](t, d.ask(d.runs, "POST", "/v1/runs", `{"agent":"refund-desk","input":"Refund order A-17"}`), 202)
		for _, path := range []string{"/v1/runs/" + run.ID, "/v1/runs/" + run.ID + "/events?wait=20"} {
			// of which a read has 300
			ctx, cancel := context.WithTimeout(t.Context(), 2300*time.Millisecond)
			defer cancel()
			e := read[asked](t, "start-jwt.json")
			e.RequestContext.HTTP.Method, e.Headers["prefer"], e.Body = "GET", "wait=20", ""
			e.RawPath, e.RawQueryString, _ = strings.Cut(path, "?")
			got, err := d.runs(ctx, e)
			if err != nil || got.StatusCode != 200 || ctx.Err() != nil {
				t.Errorf("%s: %v, %d %s", path, err, got.StatusCode, got.Body)
			}
		}
	})
}

// broken is a store that panics: the function answers 500, and Lambda counts no error.
type broken struct{ frontend.Store }

func TestAnAnswerOf5xxIsCountedForTheVersionOfItsFunction(t *testing.T) {
	var out bytes.Buffer
	metrics := emf.New(&out, "prod", time.Now).Of("prod-api", "7")
	keys := func(context.Context) (access.LinkKeys, error) { return access.LinkKeys{}, nil }
	api, err := awsapi.Runs(awsapi.Options{Clock: machine.Clock{}, Access: withJWT, Links: keys, Version: "v1", Logger: slog.New(slog.DiscardHandler), Metrics: metrics,
		Frontend: frontend.New(frontend.Options{Store: broken{}, Clock: machine.Clock{}, Random: machine.Random{}})})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(path string) int {
		t.Helper()
		e := events.APIGatewayV2HTTPRequest{RawPath: path, RequestContext: events.APIGatewayV2HTTPRequestContext{
			HTTP:       events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: "GET", Path: path},
			Authorizer: &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"custom:tenant": "acme", "cognito:groups": "[admin]", "sub": "anna"}}}}}
		answer, err := api(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode
	}
	if status := ask("/v1/nothing"); status >= 500 || out.Len() > 0 {
		t.Fatalf("status %d counts %s", status, out.String())
	}
	if status := ask("/v1/runs/run_a_0"); status != 500 || !strings.Contains(out.String(), `"ServerErrors":1,"Stack":"prod","Version":"7"`) {
		t.Errorf("status %d counts %q", status, out.String())
	}
}
