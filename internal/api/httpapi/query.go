package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend/query"
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
			return &refusal.Error{Code: codeUnknownField, Detail: fmt.Sprintf("this operation has no query parameter %q; remove it", clipped(name))}
		}
		if len(values[name]) > 1 {
			return &refusal.Error{Code: refusal.CodeInvalid, Detail: fmt.Sprintf("the query parameter %q is repeated; send it once", clipped(name))}
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

func number(values url.Values, name string) (int, error) {
	text := values.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, &refusal.Error{Code: refusal.CodeInvalid, Detail: name + " must be a non-negative whole number"}
	}
	return n, nil
}

// seconds is a number of seconds as a duration. Larger numbers than anyone waits for are cut,
// before they overflow.
func seconds(n int) time.Duration { return time.Duration(min(n, 3600)) * time.Second }

// answerTime is kept back, of a request that has a deadline, for the answer.
const answerTime = time.Second

// inTime is how long to wait where the request itself must be over at some time.
func inTime(r *http.Request, wait time.Duration) time.Duration {
	if deadline, ok := r.Context().Deadline(); ok {
		return max(0, min(wait, time.Until(deadline)-answerTime))
	}
	return wait
}

// instant reads a time in RFC 3339; the zero time if there is none.
func instant(values url.Values, name string) (time.Time, error) {
	text := values.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	if err != nil {
		return at, &refusal.Error{Code: refusal.CodeInvalid,
			Detail: name + " must be a time in RFC 3339, such as 2026-03-01T09:30:00Z; in a query, write the + of an offset as %2B"}
	}
	if at.IsZero() {
		at = time.Unix(0, 0) // the zero time would be none
	}
	return at, nil
}

func list(r *http.Request) (query.List, error) {
	values := r.URL.Query()
	limit, err := number(values, "limit")
	return query.List{Agent: values.Get("agent"), Limit: limit, Cursor: values.Get("cursor")}, err
}

// runList reads which runs are wanted.
func runList(r *http.Request) (q query.List, err error) {
	if q, err = list(r); err != nil {
		return q, err
	}
	values := r.URL.Query()
	q.Status, q.Reason, q.ResponseState = values.Get("status"), values.Get("reason"), values.Get("response_state")
	for name := range values {
		if key, of := strings.CutPrefix(name, "metadata."); of {
			if q.Metadata == nil {
				q.Metadata = map[string]string{}
			}
			q.Metadata[key] = values.Get(name)
		}
	}
	q.CreatedAfter, q.CreatedBefore, err = period(values)
	return q, err
}

// period reads the times that a list is limited to; zero times do not limit it.
func period(values url.Values) (after, before time.Time, err error) {
	if after, err = instant(values, "created_after"); err != nil {
		return after, before, err
	}
	before, err = instant(values, "created_before")
	return after, before, err
}

// preferredWait reads "Prefer: wait=N". A preference that is not understood is none.
func preferredWait(r *http.Request) time.Duration {
	for _, header := range r.Header.Values("Prefer") {
		for _, p := range strings.FieldsFunc(header, func(c rune) bool { return c == ',' || c == ';' }) {
			name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			n, err := strconv.Atoi(strings.Trim(value, `"`))
			if strings.EqualFold(name, "wait") && err == nil && n > 0 {
				return seconds(n)
			}
		}
	}
	return 0
}
