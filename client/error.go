package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/client/internal/gateway"
)

// Error is the answer of a server, or of a gateway in front of it, that refused a request. Find it
// with [errors.AsType] or [errors.As]. Any other error means that the client read no answer.
type Error struct {
	// The HTTP status.
	Status int `json:"status"`
	// The error, for programs, such as "run_open"; docs/reference/errors.md lists all codes.
	// Empty if a gateway refused the request.
	Code string `json:"code"`
	// The error in a few words.
	Title string `json:"title"`
	// An explanation of this occurrence.
	Detail string `json:"detail"`
	// With "run_open": the run that is open. With "child_thread": the run that started the
	// conversation.
	RunID string `json:"run_id"`
	// With "already_decided": false, because a different decision was accepted first.
	Same *bool `json:"same"`
	// With "already_decided": the decision that was accepted first.
	Winner *Winner `json:"winner"`
	// With "batch_refused": the result of each decision. Nothing was stored.
	Answers []DecisionAnswer `json:"answers"`

	// The message of a gateway. Empty with a Code.
	Message string `json:"-"`
	// How long the server asks to wait before the next attempt. Zero if it doesn't say.
	RetryAfter time.Duration `json:"-"`
}

// Error returns the status, the code and the explanation.
func (e *Error) Error() string {
	text := fmt.Sprintf("the server answered %d %s", e.Status, cmp.Or(e.Code, e.Title))
	if why := cmp.Or(e.Detail, e.Message); why != "" {
		text += ": " + why
	}
	return text
}

// Retryable reports whether the same request may succeed later without a change: the server is
// busy or its store is unavailable, or a gateway couldn't reach it. The client has already retried
// a request that is safe to repeat.
func (e *Error) Retryable() bool {
	switch e.Status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusInsufficientStorage:
		// without a Retry-After, the operator must act before the server's answer changes
		return e.Code == "" || e.RetryAfter > 0
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return e.Code == "ticket_used" // of a stream; the request gets another one
}

// Unanswered reports whether the request may have taken effect although it was refused: the server
// failed, or a gateway lost its answer. Sending the same request with the same key finds out.
func (e *Error) Unanswered() bool {
	return e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests
}

// refusal reads a problem document. Of any other body, perhaps of a gateway, it keeps the status
// and the message.
func refusal(resp *http.Response, body []byte) *Error {
	e := &Error{}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/problem+json" || json.Unmarshal(body, e) != nil {
		*e = Error{Title: http.StatusText(resp.StatusCode)}
	}
	if e.Code == "" {
		e.Message = gateway.Message(body)
	}
	e.Status = resp.StatusCode
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		e.RetryAfter = time.Duration(min(n, maxRetryAfter)) * time.Second
	}
	return e
}

// maxRetryAfter bounds the seconds of a Retry-After, so that a duration can hold them.
const maxRetryAfter = 1 << 32
