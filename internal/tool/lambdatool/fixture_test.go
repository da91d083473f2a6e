package lambdatool_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/machine/awsrequest"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/lambdatool"
)

// invoked is an invocation as the service got it.
type invoked struct {
	Path, Query, Kind, Event string
	Custom                   map[string]string
}

// world is the service on the loopback, and a real client of it. Whoever sleeps moves its clock.
type world struct {
	t      *testing.T
	clock  *instant
	answer []http.HandlerFunc // one for each invocation; the last is that of all others
	hidden secret.Values
	server *httptest.Server
	mu     sync.Mutex
	got    []invoked
}

type instant struct {
	*enginetest.Clock
	mu     sync.Mutex
	pauses []time.Duration
}

func (c *instant) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.pauses = append(c.pauses, d)
	c.mu.Unlock()
	c.Advance(d)
	return ctx.Err()
}

func newWorld(t *testing.T, answer ...http.HandlerFunc) *world {
	w := &world{t: t, clock: &instant{Clock: enginetest.AtMilli(0)}, answer: answer}
	w.server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	event, _ := io.ReadAll(r.Body)
	seen := invoked{Path: r.URL.Path, Query: r.URL.RawQuery, Kind: r.Header.Get("X-Amz-Invocation-Type"), Event: string(event)}
	raw, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Amz-Client-Context"))
	var told lambdacontext.ClientContext // as a function written in Go reads it
	if err != nil || json.Unmarshal(raw, &told) != nil {
		w.t.Errorf("the client context is %q", raw)
	}
	seen.Custom = told.Custom
	w.mu.Lock()
	answer := w.answer[min(len(w.got), len(w.answer)-1)]
	w.got = append(w.got, seen)
	w.mu.Unlock()
	answer(rw, r)
}

func (w *world) requests() []invoked {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]invoked{}, w.got...)
}

// client has a retryer, which must not be asked.
func (w *world) client() lambdatool.Client {
	return lambdatool.Service(awsrequest.New("lambda", aws.Config{Region: "eu-central-1", BaseEndpoint: aws.String(w.server.URL),
		Retryer: func() aws.Retryer { return retry.NewStandard() },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "k", SecretAccessKey: "s"}, nil
		})}))
}

func (w *world) tool(t agent.Tool) engine.Tool {
	w.t.Helper()
	c := lambdatool.New(w.client(), lambdatool.Options{Clock: w.clock, Random: enginetest.NewRandom(w.t, 7), Hidden: func() secret.Values { return w.hidden }})
	made, err := c.Body(agent.Definition{Name: "desk"}, t)
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// The sorts of tools: pay must not run twice, again may, look changes nothing.
var (
	pay   = agent.Tool{Name: "pay", Lambda: &agent.Lambda{Function: "payments"}, Delivery: core.AtMostOnce}
	again = agent.Tool{Name: "pay", Lambda: &agent.Lambda{Function: "payments"}, Idempotent: true}
	look  = agent.Tool{Name: "look", Lambda: &agent.Lambda{Function: "payments"}, ReadOnly: true}
)

const testKey = "run_1/call_1/0"

func request(t agent.Tool, arguments string) engine.ToolRequest {
	return engine.ToolRequest{Tenant: "acme", Thread: "thr_1", Run: "run_1", Key: testKey, AtMostOnce: t.Delivery == core.AtMostOnce,
		Call: core.ToolCall{ID: "call_1", Name: t.Name, Arguments: json.RawMessage(arguments)}}
}

func (w *world) call(t agent.Tool) core.Outcome {
	w.t.Helper()
	out, err := w.tool(t).Run(w.t.Context(), request(t, `{"order": "A-2"}`))
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func says(payload string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, payload) }
}

func fails(kind, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		_ = json.NewEncoder(w).Encode(map[string]any{"errorMessage": message, "errorType": kind, "stackTrace": []string{"line of a stack"}})
	}
}

func refuses(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amzn-Errortype", code)
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"Type":"User","message":"arn:aws:iam::123456789012:role/step may not"}`)
	}
}

func breaks(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// half begins an answer and breaks off.
func half(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"half":`)
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}
