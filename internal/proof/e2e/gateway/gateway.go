// Package gateway stands in for what is in front of functions: API Gateway's HTTP API and the URLs
// of functions. It routes as the template says, lets in whom the authorizers let in, makes events
// of version 2.0 as AWS makes them, with its quirks, and passes answers on. It has no access log,
// no throttles and no TLS, so that x-forwarded-proto is http.
package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/stack"
)

// Invoker calls functions. The body of what it returns is closed by who called.
type Invoker func(ctx context.Context, function string, event []byte) (contentType string, body io.ReadCloser, err error)

// API is the front of an HTTP API.
type API struct {
	Stack   *stack.Stack
	Invoke  Invoker
	Keys    Keys // of token issuers
	Callers Callers
	Region  string
	Account string
	Now     func() time.Time
	Logger  *slog.Logger
}

const (
	mostRequest = 10 << 20 // that an HTTP API takes
	mostEvent   = 6 << 20  // that Lambda takes
)

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if preflight(w, r, a.Stack.API.CORS) {
		return
	}
	allowOrigin(w, r, a.Stack.API.CORS)
	route, parameters, found := match(a.Stack.API.Routes, r.Method, r.URL.Path)
	if !found {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, mostRequest+1))
	switch {
	case err != nil:
		return // the caller is gone
	case len(body) > mostRequest:
		refuse(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	}
	who, err := a.authorize(r, route, body)
	if err != nil {
		a.Logger.Info("refused", "route", route.Key(), "why", err)
		a.unauthorized(w, route, err)
		return
	}
	e := a.event(r, route, parameters, body)
	e.RequestContext.Authorizer = who
	raw, err := json.Marshal(e)
	if err != nil || len(raw) > mostEvent {
		refuse(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	}
	a.call(w, r, route, e.RequestContext.RequestID, raw)
}

// call passes the function's answer on. What the function cannot answer in time is 503, what it
// fails to answer 500, and the caller learns no more.
func (a *API) call(w http.ResponseWriter, r *http.Request, route stack.Route, id string, event []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), route.Timeout)
	defer cancel()
	w.Header().Set("Apigw-Requestid", id)
	_, body, err := a.Invoke(ctx, a.Stack.Functions[route.Function].Name, event)
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(body)
		err = errors.Join(err, body.Close())
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		refuse(w, http.StatusServiceUnavailable, "Service Unavailable")
	case err != nil:
		a.Logger.Info("no answer", "route", route.Key(), "error", err)
		refuse(w, http.StatusInternalServerError, "Internal Server Error")
	default:
		if !writeAnswer(w, answer) {
			a.Logger.Warn("not an answer", "route", route.Key(), "answer", string(answer[:min(len(answer), 500)]))
			refuse(w, http.StatusInternalServerError, "Internal Server Error")
		}
	}
}

// refuse answers as API Gateway does by itself.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// the caller is gone, or not
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
}

// response is what a function answers. One without a status is the body itself.
type response struct {
	StatusCode      int               `json:"statusCode"`
	Headers         map[string]string `json:"headers"`
	Cookies         []string          `json:"cookies"`
	Body            string            `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

func writeAnswer(w http.ResponseWriter, raw []byte) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members["statusCode"] == nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(raw)
		return true
	}
	var answer response
	if err := json.Unmarshal(raw, &answer); err != nil || answer.StatusCode < 200 || answer.StatusCode > 599 {
		return false
	}
	body, err := answer.body()
	if err != nil {
		return false
	}
	answer.head(w)
	_, _ = w.Write(body)
	return true
}

// head writes status and headers. Lambda and API Gateway say themselves how long an answer is.
func (r response) head(w http.ResponseWriter) {
	h := w.Header()
	h["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
	for name, value := range r.Headers {
		if http.CanonicalHeaderKey(name) != "Content-Length" {
			h.Set(name, value)
		}
	}
	for _, cookie := range r.Cookies {
		h.Add("Set-Cookie", cookie)
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.WriteHeader(r.StatusCode)
}

func (r response) body() ([]byte, error) {
	if !r.IsBase64Encoded {
		return []byte(r.Body), nil
	}
	return decode(bytes.TrimSpace([]byte(r.Body)))
}
