package client

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/machine"
)

// Option configures a client.
type Option func(*config)

// config is what options set.
type config struct {
	token      string
	userAgent  string
	client     *http.Client
	transports []func(http.RoundTripper) http.RoundTripper
	sign       SignFunc
	retries    int
	sleep      func(context.Context, time.Duration) error
	random     io.Reader
}

// defaultRetries is how often a request is sent again unless [WithRetries] says otherwise.
const defaultRetries = 5

func defaults() config {
	return config{userAgent: "dormouse-go", client: http.DefaultClient, retries: defaultRetries, sleep: machine.Sleep, random: rand.Reader}
}

// WithToken sends the token, unless it is empty, as "Authorization: Bearer" with each request.
func WithToken(token string) Option { return func(c *config) { c.token = token } }

// WithHTTPClient sends requests through h instead of [http.DefaultClient]. [Client.PollRun],
// [Client.WaitRun] and the iterators over events hold requests open for 20 seconds and more: leave
// h.Timeout at 0, and bound calls with their contexts. A nil h is ignored.
func WithHTTPClient(h *http.Client) Option {
	return func(c *config) {
		if h != nil {
			c.client = h
		}
	}
}

// WithTransport wraps the transport of the HTTP client, to trace or count requests for example. A
// transport added later wraps those added before.
func WithTransport(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return func(c *config) {
		if wrap != nil {
			c.transports = append(slices.Clip(c.transports), wrap)
		}
	}
}

// WithUserAgent sets the User-Agent header, such as "refund-bot/1.2". The default is "dormouse-go".
func WithUserAgent(name string) Option { return func(c *config) { c.userAgent = name } }

// WithRetries sets how many times a request that is safe to repeat is sent again after its answer
// was lost or the server was unavailable. The default is 5, with pauses from 100 ms to 5 s and
// jitter. With 0 each request is sent once, and the client adds no idempotency keys. A refusal
// whose RetryAfter is longer than 2 minutes is returned at once.
func WithRetries(n int) Option { return func(c *config) { c.retries = max(n, 0) } }

// WithSleep replaces the pause between retries, for tests. The function returns early with the
// error of ctx when ctx ends.
func WithSleep(sleep func(ctx context.Context, d time.Duration) error) Option {
	return func(c *config) {
		if sleep != nil {
			c.sleep = sleep
		}
	}
}

// WithRandom replaces the source of idempotency keys and jitter, for tests. It must be safe for
// concurrent use. The default is [rand.Reader].
func WithRandom(r io.Reader) Option {
	return func(c *config) {
		if r != nil {
			c.random = r
		}
	}
}
