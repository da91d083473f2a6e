package lambdahttp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// reserve is kept back of an invocation's time for the answer to leave.
const reserve = time.Second

// most is how large the event of an answer may be: Lambda takes 6 MiB, and answers nothing in place
// of more.
const most = 6 << 20

// Buffered answers events of an HTTP API with what the handler answers, once that is complete. The
// request's context ends a second before the invocation does. It returns no error: what is wrong
// with an event, a panic of the handler and an answer that is too large are answered with a problem
// document and logged.
func Buffered(h http.Handler, log *slog.Logger) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	log = Logger(log)
	return func(ctx context.Context, asked events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		e := ofGateway(asked)
		ctx, cancel := before(e.noted(ctx))
		defer cancel()
		w := &buffer{header: http.Header{}}
		r, err := e.request(ctx)
		if err != nil {
			log.ErrorContext(ctx, "request not understood", "error", err)
			writeProblem(w, http.StatusBadRequest, "malformed_body", "the function can't read the request as the gateway forwarded it; the operator finds the cause in the log")
			return w.response(), nil
		}
		if !served(h, w, r, log) {
			w = &buffer{header: http.Header{}}
			writeProblem(w, http.StatusInternalServerError, "internal", "the server failed unexpectedly; its log has the cause")
		}
		return w.fitting(ctx, log), nil
	}
}

// before is the context of a request, which ends before its invocation.
func before(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-reserve))
	}
	return context.WithCancel(ctx)
}

// served says whether the handler came to its end. A panic, which would end the process with
// everything that it has warmed up, is logged.
func served(h http.Handler, w http.ResponseWriter, r *http.Request, log *slog.Logger) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(r.Context(), "handler panicked", "error", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	h.ServeHTTP(w, r)
	return true
}

// writeProblem answers for a handler that cannot.
func writeProblem(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	body, _ := json.Marshal(map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "code": code, "detail": detail})
	_, _ = w.Write(body)
}

// buffer keeps an answer until it is complete. There is nothing to flush.
type buffer struct {
	header http.Header
	sent   http.Header // as it was when the status was said
	status int
	body   bytes.Buffer
}

func (b *buffer) Header() http.Header { return b.header }

func (b *buffer) WriteHeader(status int) {
	// what comes before an answer is for connections
	if b.status == 0 && status >= http.StatusOK {
		b.status, b.sent = status, b.header.Clone()
	}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(p)
}

// fitting is the answer, if Lambda takes it.
func (b *buffer) fitting(ctx context.Context, log *slog.Logger) events.APIGatewayV2HTTPResponse {
	size := b.body.Len()
	if size > most/8 { // else it fits, however much of it must be escaped
		size = weigh(b.response())
	}
	if size <= most {
		return b.response()
	}
	log.ErrorContext(ctx, "answer too large", "bytes", size, "most", most)
	instead := &buffer{header: http.Header{}}
	writeProblem(instead, http.StatusInternalServerError, "internal",
		"the response exceeds Lambda's limit of 6 MB; request fewer entries with limit")
	return instead.response()
}

func weigh(r events.APIGatewayV2HTTPResponse) int {
	raw, err := json.Marshal(r)
	if err != nil {
		return most + 1
	}
	return len(raw)
}

func (b *buffer) response() events.APIGatewayV2HTTPResponse {
	b.WriteHeader(http.StatusOK)
	r := events.APIGatewayV2HTTPResponse{StatusCode: b.status, Headers: joined(b.sent), Cookies: b.sent.Values("Set-Cookie")}
	if text := b.body.Bytes(); utf8.Valid(text) {
		r.Body = string(text)
	} else {
		r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString(text), true
	}
	return r
}

// joined are the headers, of which an event holds each once. Cookies have a place of their own.
func joined(h http.Header) map[string]string {
	all := make(map[string]string, len(h))
	for name, values := range h {
		if name != "Set-Cookie" {
			all[name] = strings.Join(values, ", ")
		}
	}
	return all
}
