package lambdahttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/lambdahttp"
)

var quiet = slog.New(slog.DiscardHandler)

// read is an event of testdata, with some of it changed.
func read[E any](t testing.TB, file string, change ...func(*E)) (e E) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

type gatewayEvent = events.APIGatewayV2HTTPRequest

// seen is what a handler is given for an event.
func seen(t *testing.T, file string, change ...func(*gatewayEvent)) (r *http.Request, body string) {
	t.Helper()
	h := http.HandlerFunc(func(_ http.ResponseWriter, got *http.Request) {
		raw, err := io.ReadAll(got.Body)
		if err != nil {
			t.Error(err)
		}
		r, body = got, string(raw)
	})
	if _, err := lambdahttp.Buffered(h, quiet)(t.Context(), read(t, file, change...)); err != nil || r == nil {
		t.Fatal("the handler was not asked", err)
	}
	return r, body
}

func TestAnEventIsTheRequestThatWasSent(t *testing.T) {
	r, body := seen(t, "start-jwt.json")
	if r.Method != "POST" || r.URL.Path != "/v1/runs" || r.Host != "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com" || r.Header.Get("Idempotency-Key") != "order-A-17" ||
		body != `{"agent":"desk","input":"refund A-17"}` || r.ContentLength != int64(len(body)) || lambdahttp.RequestID(r.Context()) != "B1cD2eF3gH4iJ5k=" {
		t.Errorf("%+v %s", r, body)
	}
	r, body = seen(t, "events-iam.json")
	if r.URL.Path != "/v1/runs/run_a_0/events" || r.URL.RawQuery != "after=MS4x&wait=20" || r.RequestURI != "/v1/runs/run_a_0/events?after=MS4x&wait=20" || body != "" ||
		r.RemoteAddr != "[2001:db8::7]:0" || r.Header.Get("Accept") != "application/json,text/plain;q=0.5" {
		t.Errorf("%+v", r)
	}
	if c, err := r.Cookie("lang"); err != nil || c.Value != "en" {
		t.Error("the cookies are lost", err)
	}
	r, body = seen(t, "form.json")
	if body != "action=resume&reason=fin" || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.Errorf("%q", body)
	}
}

// Who calls is what the authorizer says; nothing behind it sees the header, or can log it.
func TestTheAuthorizationHeaderIsNotPassedOn(t *testing.T) {
	for _, file := range []string{"start-jwt.json", "events-iam.json"} {
		r, _ := seen(t, file, func(e *gatewayEvent) { e.Headers["Authorization"] = "Bearer other" })
		for name := range r.Header {
			if strings.EqualFold(name, "Authorization") {
				t.Errorf("%s: %s", file, r.Header.Get(name))
			}
		}
	}
}

func TestPathsComeAsTheyWereAsked(t *testing.T) {
	for name, tt := range map[string]struct {
		stage, route, raw string
		path, escaped     string
	}{
		"the usual stage":                      {"$default", "GET /v1/runs", "/v1/runs", "/v1/runs", "/v1/runs"},
		"a named stage":                        {"prod", "GET /v1/runs", "/prod/v1/runs", "/v1/runs", "/v1/runs"},
		"a named stage without its name":       {"prod", "GET /v1/runs", "/v1/runs", "/v1/runs", "/v1/runs"},
		"a stage that is called as paths":      {"v1", "GET /v1/runs", "/v1/runs", "/v1/runs", "/v1/runs"},
		"that stage, with its name":            {"v1", "GET /v1/runs", "/v1/v1/runs", "/v1/runs", "/v1/runs"},
		"a mapping key of a domain":            {"$default", "GET /v1/runs", "/desk/v1/runs", "/v1/runs", "/v1/runs"},
		"a mapping key of several segments":    {"$default", "GET /v1/runs/{id}", "/desk/eu/v1/runs/r", "/v1/runs/r", "/v1/runs/r"},
		"a path that the route does not fit":   {"$default", "GET /v1/runs/{id}", "/v1/runs/a/b", "/v1/runs/a/b", "/v1/runs/a/b"},
		"a stage before any path":              {"prod", "ANY /{proxy+}", "/prod/v1/runs", "/v1/runs", "/v1/runs"},
		"an escaped slash":                     {"$default", "GET /v1/runs/{id}", "/v1/runs/a%2Fb", "/v1/runs/a/b", "/v1/runs/a%2Fb"},
		"escapes that were undone":             {"$default", "GET /v1/agents/{name}", "/v1/agents/a b", "/v1/agents/a b", "/v1/agents/a%20b"},
		"an escape that is none":               {"$default", "GET /v1/agents/{name}", "/v1/agents/100%", "/v1/agents/100%", "/v1/agents/100%25"},
		"what looks like another host's name":  {"$default", "$default", "//other.example/v1/runs", "//other.example/v1/runs", "//other.example/v1/runs"},
		"what looks like the end of the path":  {"$default", "GET /v1/agents/{name}", "/v1/agents/a?b#c", "/v1/agents/a?b#c", "/v1/agents/a%3Fb%23c"},
		"a dotted path, which stays as it was": {"$default", "$default", "/v1/../x", "/v1/../x", "/v1/../x"},
	} {
		r, _ := seen(t, "events-iam.json", func(e *gatewayEvent) { e.RequestContext.Stage, e.RouteKey, e.RawPath = tt.stage, tt.route, tt.raw })
		if r.URL.Path != tt.path || r.URL.EscapedPath() != tt.escaped || r.URL.Host != "" {
			t.Errorf("%s: %q, %q", name, r.URL.Path, r.URL.EscapedPath())
		}
	}
}

func answered(t *testing.T, h http.HandlerFunc) events.APIGatewayV2HTTPResponse {
	t.Helper()
	got, err := lambdahttp.Buffered(h, quiet)(t.Context(), read[gatewayEvent](t, "start-jwt.json"))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAnAnswerIsTheOneThatWasWritten(t *testing.T) {
	got := answered(t, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Add("Vary", "Accept")
		h.Add("Vary", "Origin")
		h.Add("Set-Cookie", "a=1")
		h.Add("Set-Cookie", "b=2")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusTeapot)
		h.Set("X-Late", "1")
		_, _ = io.WriteString(w, `{"a":"ä"}`)
	})
	if got.StatusCode != 202 || got.Headers["Vary"] != "Accept, Origin" || got.Headers["X-Late"] != "" || got.Headers["Set-Cookie"] != "" || len(got.Cookies) != 2 ||
		got.Body != `{"a":"ä"}` || got.IsBase64Encoded {
		t.Errorf("%+v", got)
	}
	if bytes := answered(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0}) }); !bytes.IsBase64Encoded || bytes.Body != "/wA=" || bytes.StatusCode != 200 {
		t.Errorf("%+v", bytes)
	}
	if nothing := answered(t, func(http.ResponseWriter, *http.Request) {}); nothing.StatusCode != 200 || nothing.Body != "" {
		t.Errorf("%+v", nothing)
	}
}

func TestWhatGoesWrongIsAProblemAndSaidInTheLog(t *testing.T) {
	fine := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		change  func(*gatewayEvent)
		status  int
		says    string
		logs    string
	}{
		"a panic":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202); panic("secret of the inside") }, func(*gatewayEvent) {}, 500, `"internal"`, "secret of the inside"},
		"an answer too large":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("x"), 7<<20)) }, func(*gatewayEvent) {}, 500, "6 MB", "too large"},
		"large once escaped":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("\x01"), 2<<20)) }, func(*gatewayEvent) {}, 500, "6 MB", "too large"},
		"large, and it fits":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("x"), 5<<20)) }, func(*gatewayEvent) {}, 200, "xxx", ""},
		"no base64":             {fine, func(e *gatewayEvent) { e.IsBase64Encoded = true }, 400, "malformed_body", "base64"},
		"no path":               {fine, func(e *gatewayEvent) { e.RawPath = "" }, 400, "malformed_body", "payload format 2.0"},
		"no method":             {fine, func(e *gatewayEvent) { e.RequestContext.HTTP.Method = "" }, 400, "malformed_body", "payload format 2.0"},
		"a method that is none": {fine, func(e *gatewayEvent) { e.RequestContext.HTTP.Method = "GET /" }, 400, "malformed_body", "payload format 2.0"},
	} {
		var log bytes.Buffer
		got, err := lambdahttp.Buffered(tt.handler, slog.New(slog.NewTextHandler(&log, nil)))(t.Context(), read(t, "start-jwt.json", tt.change))
		if err != nil || got.StatusCode != tt.status || !strings.Contains(got.Body, tt.says) || strings.Contains(got.Body, "secret") {
			t.Errorf("%s: %v, %d %.200s", name, err, got.StatusCode, got.Body)
		}
		if !strings.Contains(log.String(), tt.logs) || tt.logs == "" && log.Len() > 0 || strings.Contains(log.String(), "eyJ") {
			t.Errorf("%s: the log: %s", name, log.String())
		}
		if tt.status >= 400 && got.Headers["Content-Type"] != "application/problem+json" {
			t.Errorf("%s: %v", name, got.Headers)
		}
	}
}

func TestARequestEndsBeforeItsInvocation(t *testing.T) {
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	var got time.Time
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, _ = r.Context().Deadline() })
	if _, err := lambdahttp.Buffered(h, quiet)(ctx, read[gatewayEvent](t, "start-jwt.json")); err != nil || !got.Equal(end.Add(-time.Second)) {
		t.Errorf("%v, %v; the invocation ends at %v", got, err, end)
	}
}

func TestEachAuthorizerLetsInItsOwnCallers(t *testing.T) {
	door := access.Admission{TenantClaim: "custom:tenant", RolesClaim: "cognito:groups", Tenant: "acme"}
	for name, tt := range map[string]struct {
		file    string
		change  func(*gatewayEvent)
		jwt     string
		iam     string
		problem bool
	}{
		"a JWT":                     {"start-jwt.json", func(*gatewayEvent) {}, "ann", "", false},
		"a signature":               {"events-iam.json", func(*gatewayEvent) {}, "", "user-ann-", false},
		"no authorizer":             {"form.json", func(*gatewayEvent) {}, "", "", false},
		"a JWT of nobody's tenant":  {"start-jwt.json", func(e *gatewayEvent) { delete(e.RequestContext.Authorizer.JWT.Claims, "custom:tenant") }, "", "", true},
		"a header, no authorizer":   {"start-jwt.json", func(e *gatewayEvent) { e.RequestContext.Authorizer = nil }, "", "", false},
		"an authorizer of our own":  {"start-jwt.json", func(e *gatewayEvent) { e.RequestContext.Authorizer.JWT = nil }, "", "", false},
		"a JWT without any claim":   {"start-jwt.json", func(e *gatewayEvent) { e.RequestContext.Authorizer.JWT.Claims = nil }, "", "", false},
		"a signature of nobody":     {"events-iam.json", func(e *gatewayEvent) { e.RequestContext.Authorizer.IAM.UserARN = "" }, "", "", false},
		"claims in a caller's body": {"form.json", func(e *gatewayEvent) { e.Headers["x-amzn-claims"] = `{"sub":"ann"}` }, "", "", false},
	} {
		r, _ := seen(t, tt.file, tt.change)
		p, ok, err := lambdahttp.AdmitJWT(door)(r.Context())
		if p.Name != tt.jwt || ok != (tt.jwt != "") || (err != nil) != tt.problem || ok && (p.Tenant != "acme" || !p.May(access.Start) || p.May(access.Admin)) {
			t.Errorf("%s, by JWT: %+v, %v, %v", name, p, ok, err)
		}
		p, ok, err = lambdahttp.AdmitIAM(door)(r.Context())
		if !strings.HasPrefix(p.Name, tt.iam) || ok != (tt.iam != "") || err != nil || ok && (p.Tenant != "acme" || !p.May(access.Read) || p.May(access.Admin)) {
			t.Errorf("%s, by IAM: %+v, %v, %v", name, p, ok, err)
		}
	}
}
