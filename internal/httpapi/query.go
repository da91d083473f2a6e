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

	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// readQuery demands that only these parameters are in the query, each once.
func readQuery(r *http.Request, known []string) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &frontend.Error{Code: frontend.CodeInvalid, Detail: "the query cannot be read"}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // the same query, the same answer
		if !slices.Contains(known, name) {
			return &frontend.Error{Code: codeUnknownField, Detail: fmt.Sprintf("the parameter %q is not known here", clipped(name))}
		}
		if len(values[name]) > 1 {
			return &frontend.Error{Code: frontend.CodeInvalid, Detail: fmt.Sprintf("the parameter %q is there twice", name)}
		}
	}
	return nil
}

func number(values url.Values, name string) (int, error) {
	text := values.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, &frontend.Error{Code: frontend.CodeInvalid, Detail: name + " must be a whole number, not negative"}
	}
	return n, nil
}

// seconds is a number of seconds as a duration. Larger numbers than anyone waits for are cut, before they overflow.
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

func list(r *http.Request) (frontend.List, error) {
	values := r.URL.Query()
	limit, err := number(values, "limit")
	return frontend.List{Status: values.Get("status"), Agent: values.Get("agent"), Limit: limit, Cursor: values.Get("cursor")}, err
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
