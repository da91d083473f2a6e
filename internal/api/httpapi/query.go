package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// readQuery demands that only these parameters are in the query, each once. A known name that ends
// in [anyKey] matches all names with the same beginning.
func readQuery(r *http.Request, known []string) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &refusal.Error{Code: refusal.CodeInvalid, Detail: "the query string can't be parsed; percent-encode names and values"}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // the same query, the same answer
		if !slices.ContainsFunc(known, func(one string) bool { return isParam(name, one) }) {
			return &refusal.Error{Code: problems.CodeUnknownField, Detail: fmt.Sprintf("this operation has no query parameter %q; remove it", bodies.Clipped(name))}
		}
		if len(values[name]) > 1 {
			return &refusal.Error{Code: refusal.CodeInvalid, Detail: fmt.Sprintf("the query parameter %q is repeated; send it once", bodies.Clipped(name))}
		}
	}
	return nil
}

// anyKey ends the name of a parameter whose callers choose the rest of it.
const anyKey = "{key}"

// isParam says whether the name in a query is that of a known parameter.
func isParam(name, known string) bool {
	if family, ok := strings.CutSuffix(known, anyKey); ok {
		return strings.HasPrefix(name, family)
	}
	return name == known
}

// answerTime is kept back, of a request that has a deadline, for the answer.
const answerTime = time.Second

// inTime is how long to wait where the request itself must be over at some time.
func inTime(r *http.Request, wait time.Duration) time.Duration {
	if deadline, ok := r.Context().Deadline(); ok {
		return max(0, min(wait, time.Until(deadline)-answerTime))
	}
	return wait
}
