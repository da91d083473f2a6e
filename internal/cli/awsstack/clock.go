//go:build !noaws

package awsstack

import (
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// clock is an HTTP client that remembers the time in the first answer. AWS also dates its errors,
// so the time is known if AWS refuses a signature because of the clock.
type clock struct {
	now   func() time.Time
	inner aws.HTTPClient

	mu    sync.Mutex
	skew  time.Duration
	known bool
}

// Do sends a request.
func (c *clock) Do(r *http.Request) (*http.Response, error) {
	sent := c.now()
	resp, err := c.inner.Do(r)
	got := c.now()
	if err == nil {
		c.dated(resp.Header.Get("Date"), sent, got)
	}
	return resp, err
}

func (c *clock) dated(date string, sent, got time.Time) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known {
		return
	}
	c.known = true
	// AWS wrote the date, in whole seconds, between the two moments.
	earliest, latest := at, at.Add(time.Second)
	switch {
	case sent.After(latest):
		c.skew = sent.Sub(latest)
	case got.Before(earliest):
		c.skew = got.Sub(earliest)
	}
}

// Skew implements [stackdoctor.Clock].
func (c *clock) Skew() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skew, c.known
}
