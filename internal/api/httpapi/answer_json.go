package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// writeJSON answers with v, unless too many large responses to the tenant are in progress. Even
// then it doesn't undo what the request has stored.
func (a *api) writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) error {
	body, err := core.EncodeAny(v)
	if err != nil {
		return fmt.Errorf("httpapi: encoding %T: %w", v, err)
	}
	taken, ok := a.outgoing.Take(principal(r).Tenant, len(body))
	if !ok {
		w.Header().Del("Location")
		return crowdedOut(r)
	}
	defer taken()
	if cut(r) {
		w.Header().Del("Preference-Applied")
		w.Header().Set("Retry-After", strconv.Itoa(int(bounds.HeldAgain.Seconds())))
	}
	w.Header().Set("Content-Type", mediaJSON)
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the caller is gone
	return nil
}

func crowdedOut(r *http.Request) error {
	detail := "too many large responses to this tenant are in progress; finish reading them, then send the request again"
	if r.Method != http.MethodGet {
		detail = "the request was stored, but too many large responses to this tenant are in progress; read the run, or send the same request again if it had an Idempotency-Key"
	}
	return &refusal.Error{Code: refusal.CodeUnavailable, RetryAfter: time.Second, Detail: detail}
}
