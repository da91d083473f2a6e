package params

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Known demands that only these parameters are in the query, each once. A known name that ends
// in [AnyKey] matches all names with the same beginning.
func Known(r *http.Request, known []string) error {
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

// AnyKey ends the name of a parameter whose callers choose the rest of it.
const AnyKey = "{key}"

// isParam says whether the name in a query is that of a known parameter.
func isParam(name, known string) bool {
	if family, ok := strings.CutSuffix(known, AnyKey); ok {
		return strings.HasPrefix(name, family)
	}
	return name == known
}
