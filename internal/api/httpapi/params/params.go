// Package params reads the parameters of requests: of queries, and of the header Prefer. Errors are
// refusals.
package params

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Number reads a whole number; 0 if there is none.
func Number(values url.Values, name string) (int, error) {
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

// Seconds is a number of seconds as a duration. Larger numbers than anyone waits for are cut,
// before they overflow.
func Seconds(n int) time.Duration { return time.Duration(min(n, 3600)) * time.Second }

// Instant reads a time in RFC 3339; the zero time if there is none.
func Instant(values url.Values, name string) (time.Time, error) {
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

// Period reads the times that a list is limited to; zero times do not limit it.
func Period(values url.Values) (after, before time.Time, err error) {
	if after, err = Instant(values, "created_after"); err != nil {
		return after, before, err
	}
	before, err = Instant(values, "created_before")
	return after, before, err
}

// FromTail says whether only new events are wanted.
func FromTail(values url.Values) (bool, error) {
	switch values.Get("from") {
	case "":
		return false, nil
	case "tail":
		return true, nil
	}
	return false, &refusal.Error{Code: refusal.CodeInvalid, Detail: "from must be tail or omitted"}
}

// EventOrder reads in which order a page has its events, and whether only new ones are wanted.
// Pages with the newest first are of what was committed when they were asked for.
func EventOrder(values url.Values) (order string, tail bool, err error) {
	order = values.Get("order")
	if order == query.OrderNewest {
		for _, name := range []string{"from", "wait", "tree"} {
			if values.Has(name) {
				return order, false, &refusal.Error{Code: refusal.CodeInvalid, Detail: name + " doesn't apply to order=desc; remove one of them"}
			}
		}
	}
	tail, err = FromTail(values)
	return order, tail, err
}

// PreferredWait reads "Prefer: wait=N". A preference that is not understood is none.
func PreferredWait(r *http.Request) time.Duration {
	for _, header := range r.Header.Values("Prefer") {
		for _, p := range strings.FieldsFunc(header, func(c rune) bool { return c == ',' || c == ';' }) {
			name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			n, err := strconv.Atoi(strings.Trim(value, `"`))
			if strings.EqualFold(name, "wait") && err == nil && n > 0 {
				return Seconds(n)
			}
		}
	}
	return 0
}

// WantsJSON says whether the caller asks for JSON before, or in place of, a stream.
func WantsJSON(r *http.Request) bool {
	weights := map[string]float64{}
	for _, header := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			media, params, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			weights[media] = 1
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
				weights[media] = q
			}
		}
	}
	return weights["application/json"] > weights["text/event-stream"]
}

// List reads what lists are read by.
func List(r *http.Request) (query.List, error) {
	values := r.URL.Query()
	limit, err := Number(values, "limit")
	return query.List{Agent: values.Get("agent"), Limit: limit, Cursor: values.Get("cursor")}, err
}

// RunList reads which runs are wanted.
func RunList(r *http.Request) (q query.List, err error) {
	if q, err = List(r); err != nil {
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
	q.CreatedAfter, q.CreatedBefore, err = Period(values)
	return q, err
}
