package gateway

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/stack"
)

const issuer = "https://issuer.example"

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// rig is an API whose function answers what it is told to, and keeps the last event.
type rig struct {
	*httptest.Server
	key      *rsa.PrivateKey
	api      *API
	answer   string
	fails    error
	event    map[string]any
	function string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{key: key, answer: `{"statusCode":201,"headers":{"X-Own":"a"},"cookies":["c=1"],"body":"hi"}`}
	s := &stack.Stack{Functions: map[string]stack.Function{"F": {Name: "fn"}, "G": {Name: "gn"}}, API: stack.API{ID: "api",
		Authorizers: map[string]stack.Authorizer{"jwt": {Issuer: issuer, Audience: []string{"dormouse"}}},
		Routes: []stack.Route{{Method: "GET", Path: "/open", Function: "F", Timeout: time.Minute}, {Method: "POST", Path: "/v1/runs/{id}", Function: "F", Authorizer: "jwt", Timeout: time.Minute},
			{Method: "GET", Path: "/signed", Function: "F", Authorizer: stack.IAM, Timeout: time.Minute}, {Method: "ANY", Path: "/pages/{rest+}", Function: "G", Timeout: time.Minute},
			{Method: "GET", Path: "/pages/first", Function: "F", Timeout: time.Minute}, {Method: "GET", Path: "/slow", Function: "F", Timeout: time.Nanosecond}}}}
	r.api = &API{Stack: s, Keys: Keys{issuer: {"k": &key.PublicKey}}, Callers: Callers{"AKIA": {Secret: "s3cret", ARN: "arn:aws:iam::1:user/a", UserID: "AIDA"}},
		Region: "us-east-1", Account: "1", Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
		Invoke: func(ctx context.Context, function string, event []byte) (string, io.ReadCloser, error) {
			r.function, r.event = function, nil
			if err := json.Unmarshal(event, &r.event); err != nil {
				return "", nil, err
			}
			if ctx.Err() != nil {
				return "", nil, ctx.Err()
			}
			return "application/json", io.NopCloser(strings.NewReader(r.answer)), r.fails
		}}
	r.Server = httptest.NewServer(r.api)
	t.Cleanup(r.Close)
	return r
}

func (r *rig) token(t *testing.T, change map[string]any) string {
	t.Helper()
	claims := map[string]any{"iss": issuer, "aud": "dormouse", "sub": "anna", "exp": now.Add(time.Hour).Unix(), "roles": []string{"read", "decide"}, "admin": true}
	for name, value := range change {
		claims[name] = value
	}
	head, body := `{"alg":"RS256","kid":"k"}`, &bytes.Buffer{}
	if err := json.NewEncoder(body).Encode(claims); err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + base64.RawURLEncoding.EncodeToString(body.Bytes())
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, r.key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func (r *rig) do(t *testing.T, method, path, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	return r.send(t, req)
}

func (r *rig) send(t *testing.T, req *http.Request) (int, string, http.Header) {
	t.Helper()
	resp, err := r.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(raw)), resp.Header
}

func TestAnAnswerIsPassedOn(t *testing.T) {
	r := newRig(t)
	code, body, h := r.do(t, "GET", "/open", "")
	if code != 201 || body != "hi" || h.Get("X-Own") != "a" || h.Get("Set-Cookie") != "c=1" {
		t.Errorf("%d %q %v", code, body, h)
	}
	r.answer = `{"statusCode":200,"isBase64Encoded":true,"body":"AAEC"}`
	if code, body, _ := r.do(t, "GET", "/open", ""); code != 200 || body != "\x00\x01\x02" {
		t.Errorf("%d %q", code, body)
	}
	r.answer = `{"hello":1}`
	if code, body, _ := r.do(t, "GET", "/open", ""); code != 200 || body != `{"hello":1}` {
		t.Errorf("without a status: %d %q", code, body)
	}
}

func TestWhatAPIGatewayRefuses(t *testing.T) {
	r := newRig(t)
	bearer := "Bearer " + r.token(t, nil)
	for _, c := range []struct {
		method, path, body, authorization string
		code                              int
		answer                            string
	}{
		{"GET", "/nothing", "", "", 404, `{"message":"Not Found"}`},
		{"DELETE", "/open", "", "", 404, `{"message":"Not Found"}`},
		{"POST", "/v1/runs/a", "", "", 401, `{"message":"Unauthorized"}`},
		{"POST", "/v1/runs/a", "", "Bearer x.y.z", 401, `{"message":"Unauthorized"}`},
		{"POST", "/v1/runs/a", "", bearer[:len(bearer)-6] + "AAAAAA", 401, `{"message":"Unauthorized"}`},
		{"POST", "/v1/runs/a", "", "Bearer " + r.token(t, map[string]any{"aud": "other"}), 401, `{"message":"Unauthorized"}`},
		{"POST", "/v1/runs/a", "", "Bearer " + r.token(t, map[string]any{"iss": "https://other.example"}), 401, `{"message":"Unauthorized"}`},
		{"POST", "/v1/runs/a", "", "Bearer " + r.token(t, map[string]any{"exp": now.Unix()}), 401, `{"message":"Unauthorized"}`},
		{"POST", "/v1/runs/a", "", "Bearer " + r.token(t, map[string]any{"nbf": now.Add(time.Minute).Unix()}), 401, `{"message":"Unauthorized"}`},
		{"GET", "/signed", "", bearer, 403, `{"message":"Forbidden"}`},
		{"GET", "/slow", "", "", 503, `{"message":"Service Unavailable"}`},
		{"POST", "/v1/runs/a", strings.Repeat("x", mostRequest+1), bearer, 413, `{"message":"Request Entity Too Large"}`},
		{"POST", "/v1/runs/a", "", bearer, 201, "hi"},
	} {
		code, answer, _ := r.do(t, c.method, c.path, c.body, "Authorization", c.authorization)
		if code != c.code || answer != c.answer {
			t.Errorf("%s %s with %.20q: %d %s, not %d %s", c.method, c.path, c.authorization, code, answer, c.code, c.answer)
		}
	}
}

func TestAFunctionThatFailsIsNotToldAbout(t *testing.T) {
	r := newRig(t)
	r.fails = errors.New("a secret reason")
	if code, body, _ := r.do(t, "GET", "/open", ""); code != 500 || body != `{"message":"Internal Server Error"}` {
		t.Errorf("%d %s", code, body)
	}
	r.fails, r.answer = nil, `{"statusCode":9}`
	if code, _, _ := r.do(t, "GET", "/open", ""); code != 500 {
		t.Errorf("an answer that is none: %d", code)
	}
}

func TestTheEventIsAsAWSMakesIt(t *testing.T) {
	r := newRig(t)
	r.do(t, "POST", "/v1/runs/a%20b?x=1&x=2&y=%20", `{"a":1}`, "Authorization", "Bearer "+r.token(t, nil), "Content-Type", "application/json",
		"X-Twice", "1", "X-Twice", "2", "Cookie", "a=1; b=2")
	context := r.event["requestContext"].(map[string]any)
	claims := context["authorizer"].(map[string]any)["jwt"].(map[string]any)["claims"].(map[string]any)
	for what, pair := range map[string][2]any{
		"version": {r.event["version"], "2.0"}, "route": {r.event["routeKey"], "POST /v1/runs/{id}"}, "path, decoded": {r.event["rawPath"], "/v1/runs/a b"},
		"query, as sent": {r.event["rawQueryString"], "x=1&x=2&y=%20"}, "parameters": {r.event["queryStringParameters"].(map[string]any)["x"], "1,2"},
		"path parameter": {r.event["pathParameters"].(map[string]any)["id"], "a b"}, "header": {r.event["headers"].(map[string]any)["x-twice"], "1,2"},
		"cookies": {len(r.event["cookies"].([]any)), 2}, "body": {r.event["body"], `{"a":1}`}, "encoding": {r.event["isBase64Encoded"], false},
		"subject": {claims["sub"], "anna"}, "a list": {claims["roles"], "[read decide]"}, "a truth": {claims["admin"], "true"}, "a number": {claims["exp"], "1795266000"},
		"time": {context["time"], "21/Nov/2026:12:00:00 +0000"}, "stage": {context["stage"], "$default"}, "function": {r.function, "fn"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %v, and should be %v", what, pair[0], pair[1])
		}
	}
	r.do(t, "POST", "/v1/runs/a", "\xff\x00", "Authorization", "Bearer "+r.token(t, nil), "Content-Type", "application/octet-stream")
	if r.event["body"] != "/wA=" || r.event["isBase64Encoded"] != true {
		t.Errorf("bytes are passed on as %v", r.event["body"])
	}
}

func TestTheRouteThatSaysMostIsTaken(t *testing.T) {
	r := newRig(t)
	for path, want := range map[string]string{"/pages/first": "fn", "/pages/other": "gn", "/pages/a/b/c": "gn"} {
		if code, _, _ := r.do(t, "GET", path, ""); code != 201 || r.function != want {
			t.Errorf("%s leads to %s (%d)", path, r.function, code)
		}
	}
}

func TestASignatureLetsInWhoHasTheSecret(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		key, secret, service string
		at                   time.Time
		code                 int
	}{{"AKIA", "s3cret", "execute-api", now, 201}, {"AKIA", "other", "execute-api", now, 403}, {"NOBODY", "s3cret", "execute-api", now, 403},
		{"AKIA", "s3cret", "sqs", now, 403}, {"AKIA", "s3cret", "execute-api", now.Add(-time.Hour), 403}} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", r.URL+"/signed?b=2&a=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		empty := sha256.Sum256(nil)
		if err := v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: c.key, SecretAccessKey: c.secret}, req, hex.EncodeToString(empty[:]), c.service, "us-east-1", c.at); err != nil {
			t.Fatal(err)
		}
		if code, body, _ := r.send(t, req); code != c.code {
			t.Errorf("%+v: %d %s", c, code, body)
		}
	}
	context := r.event["requestContext"].(map[string]any)
	if arn := context["authorizer"].(map[string]any)["iam"].(map[string]any)["userArn"]; arn != "arn:aws:iam::1:user/a" {
		t.Errorf("the function is told %v", arn)
	}
}

func TestAStreamHasItsHeadFromThePreludeAndBreaksWhereItBreaks(t *testing.T) {
	prelude := `{"statusCode":202,"headers":{"Content-Type":"text/event-stream"}}` + strings.Repeat("\x00", 8)
	for name, c := range map[string]struct {
		body io.Reader
		want string
		ok   bool
	}{"whole": {strings.NewReader(prelude + "data: 1\n\n"), "data: 1\n\n", true},
		"broken": {io.MultiReader(strings.NewReader(prelude+"data"), brokenReader{}), "", false}} {
		t.Run(name, func(t *testing.T) {
			u := &URL{Stack: &stack.Stack{Functions: map[string]stack.Function{"F": {Name: "fn"}}}, URL: stack.FunctionURL{Function: "F", Stream: true}, Now: func() time.Time { return now },
				Logger: slog.New(slog.DiscardHandler), Invoke: func(context.Context, string, []byte) (string, io.ReadCloser, error) {
					return streamed, io.NopCloser(c.body), nil
				}}
			server := httptest.NewServer(u)
			defer server.Close()
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			resp, err := server.Client().Get(server.URL + "/x")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			raw, err := io.ReadAll(resp.Body)
			if (err == nil) != c.ok || c.ok && string(raw) != c.want || resp.StatusCode != 202 || resp.Header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("%d %q %v", resp.StatusCode, raw, err)
			}
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the function died") }
