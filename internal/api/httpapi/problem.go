package httpapi

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// panicked is a handler's panic as an error.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// refusalHeaders says in headers how to send the request again.
func refusalHeaders(w http.ResponseWriter, e *refusal.Error) {
	switch e.Code {
	case problems.CodeUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case refusal.CodeInvalidSignature:
		w.Header().Set("WWW-Authenticate", "Signature")
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
}

// answer writes err as a problem document. It logs nothing for a request that its caller gave up.
func (a *api) answer(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := problems.Refused(err)
	refusalHeaders(w, e)
	a.logRefused(r, e, err, ok)
	doc := problems.Document(e)
	body, err := core.EncodeAny(doc)
	if err != nil {
		a.logFault(r, err)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(doc.Status)
	_, _ = w.Write(body)
}

// logRefused writes down what an operator should know of a refusal: a fault of the server
// is not known.
func (a *api) logRefused(r *http.Request, e *refusal.Error, err error, known bool) {
	switch {
	case r.Context().Err() != nil: // the caller gave the request up
	case !known:
		a.logFault(r, err)
	case problems.Of(e.Code).Status == http.StatusServiceUnavailable:
		a.logUnserved(r, e, err)
	}
}

func (a *api) logFault(r *http.Request, err error) {
	args := []any{"call", r.Pattern, "error", err}
	if errors.As(err, new(panicked)) {
		args = append(args, "stack", string(debug.Stack()))
	}
	a.log.ErrorContext(r.Context(), "request failed", args...)
}
