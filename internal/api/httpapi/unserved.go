package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// logUnserved writes down why a request was answered with 503. Where waiting does not help, an
// operator is needed: that is an error.
func (a *api) logUnserved(r *http.Request, e *refusal.Error, err error) {
	yes, others := a.unserved.Take(e.Code, a.clock.Now())
	if !yes {
		return
	}
	if cause := e.Unwrap(); cause != nil {
		err = cause
	}
	level := slog.LevelWarn
	if e.RetryAfter == 0 {
		level = slog.LevelError
	}
	a.log.Log(r.Context(), level, "a request was refused with 503", "code", e.Code, "call", r.Pattern, "others_since_last", others, "error", err)
}
