package httpapi

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Bounds of the bytes of large answers that are on their way at once: who asks for much and reads
// slowly would else decide how much memory is used. One alone is always sent, and small ones are
// not counted.
const (
	allAnswers    = 16 << 20
	tenantAnswers = allAnswers / 2
	smallAnswer   = 16 << 10
)

// outgoing counts the bytes of large answers until callers have taken them.
type outgoing struct {
	mu     sync.Mutex
	all    int
	tenant map[string]int
}

func newOutgoing() *outgoing { return &outgoing{tenant: map[string]int{}} }

// take counts n bytes more, until taken is called. ok is false where that is too much.
func (o *outgoing) take(tenant string, n int) (taken func(), ok bool) {
	if n <= smallAnswer {
		return func() {}, true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all > 0 && o.all+n > allAnswers || o.tenant[tenant] > 0 && o.tenant[tenant]+n > tenantAnswers {
		return nil, false
	}
	o.all += n
	o.tenant[tenant] += n
	return func() { o.taken(tenant, n) }, true
}

func (o *outgoing) taken(tenant string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all -= n
	if o.tenant[tenant] -= n; o.tenant[tenant] == 0 {
		delete(o.tenant, tenant)
	}
}

// writeJSON answers with v, unless too many large responses to the tenant are in progress. Even
// then it doesn't undo what the request has stored.
func (a *api) writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) error {
	body, err := core.EncodeAny(v)
	if err != nil {
		return fmt.Errorf("httpapi: encoding %T: %w", v, err)
	}
	taken, ok := a.outgoing.take(principal(r).Tenant, len(body))
	if !ok {
		w.Header().Del("Location")
		return crowdedOut(r)
	}
	defer taken()
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
