//go:build !noaws

package awsstack

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// answers is a client that gets the answers of AWS, one after the other.
type answers []string

func (a *answers) Do(*http.Request) (*http.Response, error) {
	date := (*a)[0]
	*a = (*a)[1:]
	if date == "" {
		return nil, errors.New("no connection")
	}
	return &http.Response{Header: http.Header{"Date": {date}}}, nil
}

// TestTheClockIsComparedWithTheFirstDate: a date has whole seconds, and the request takes two.
func TestTheClockIsComparedWithTheFirstDate(t *testing.T) {
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		dates answers
		want  time.Duration
		known bool
	}{
		"the same":        {answers{"Sun, 29 Nov 2026 12:00:00 GMT"}, 0, true},
		"while it waited": {answers{"Sun, 29 Nov 2026 12:00:02 GMT"}, 0, true},
		"behind":          {answers{"Sun, 29 Nov 2026 12:00:12 GMT"}, -10 * time.Second, true},
		"ahead":           {answers{"Sun, 29 Nov 2026 11:58:59 GMT"}, time.Minute, true},
		"only the first":  {answers{"Sun, 29 Nov 2026 11:58:59 GMT", "Sun, 29 Nov 2026 12:00:00 GMT"}, time.Minute, true},
		"after a failure": {answers{"", "Sun, 29 Nov 2026 12:00:00 GMT"}, 0, true},
		"no date":         {answers{"today"}, 0, false},
	} {
		calls := 0
		at := func() time.Time { calls++; return noon.Add(time.Duration((calls-1)%2) * 2 * time.Second) }
		k := &clock{now: at, inner: &c.dates}
		for range len(c.dates) {
			if resp, err := k.Do(nil); err == nil && resp.Body != nil {
				resp.Body.Close()
			}
		}
		if skew, known := k.Skew(); skew != c.want || known != c.known {
			t.Errorf("%s: %v, %v", name, skew, known)
		}
	}
}
