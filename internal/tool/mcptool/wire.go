package mcptool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// mostRead is how much is read of one answer, a stream with all its notifications included. An answer is read whole or not at all, so this is
// more than what a tool may return: images are a third longer on the wire, and every character may be escaped.
const mostRead = 4 << 20

// errLong ends the reading of an answer.
var errLong = errors.New("the answer is too long")

// exchange is what is seen on the wire of one call, or of one connecting. The SDK hides it in the text of its errors.
type exchange struct {
	sent   atomic.Bool  // a connection was there to carry the request
	status atomic.Int64 // of the last answer that is no success
	long   atomic.Bool  // the answer was longer than is read
	after  atomic.Int64 // seconds for which the server wants to be left alone

	alone atomic.Bool // only the next request counts: it is the call
	begun atomic.Bool // and it has come
}

// only forgets what was seen, and sees nothing but the next request. What is sent beside a call, as the answer to a question of the server or
// word that nobody waits any more, says nothing of the call.
func (x *exchange) only() {
	x.sent.Store(false)
	x.alone.Store(true)
}

type exchangeKey struct{}

func watched(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// transport puts the headers of the definition on every request, and watches.
type transport struct {
	next    http.RoundTripper
	headers http.Header
}

// client is the one for a link. No redirect is followed.
func (t *Tools) client(l link) *http.Client {
	c := *t.o.HTTP(l.server)
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	c.Transport = &transport{next: next, headers: l.headers}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Jar = nil
	return &c
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok || x.alone.Load() && x.begun.Swap(true) {
		x = &exchange{}
	}
	// A connection that is there, its TLS included, is about to carry the request; nobody knows how far that got if it breaks.
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) }}
	r = r.Clone(httptrace.WithClientTrace(r.Context(), trace))
	for name, values := range t.headers {
		r.Header[name] = values
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		x.status.Store(int64(resp.StatusCode))
		x.after.Store(int64(retryAfter(resp)))
	}
	resp.Body = &bounded{ReadCloser: resp.Body, left: mostRead, x: x}
	return resp, nil
}

// retryAfter is how many seconds a busy server names, at most a minute.
func retryAfter(r *http.Response) int {
	seconds := 0
	for _, c := range r.Header.Get("Retry-After") {
		if c < '0' || c > '9' || seconds > 60 {
			break
		}
		seconds = seconds*10 + int(c-'0')
	}
	return min(seconds, 60)
}

// bounded is a body of which no more is read than may be.
type bounded struct {
	io.ReadCloser
	left int
	x    *exchange
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.x.long.Store(true)
		return 0, errLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// errSlow is the cause of a context whose time was over.
var errSlow = errors.New("no time is left")

// patience ends a context when nothing was heard for a while, by the clock that was brought.
type patience struct {
	clock engine.Clock
	quiet time.Duration
	ends  time.Time
	end   context.CancelCauseFunc

	progress func(engine.Progress) // is told what the server says of its progress; nil: progress isn't reported

	mu   sync.Mutex
	stop func()
	over bool
}

// patient is ctx with an end: after quiet without a sign of life, and at most the longest that a call may take.
func patient(ctx context.Context, clock engine.Clock, quiet time.Duration) (context.Context, *patience) {
	ctx, end := context.WithCancelCause(ctx)
	p := &patience{clock: clock, quiet: quiet, ends: clock.Now().Add(max(quiet, longest)), end: end}
	p.renew()
	return ctx, p
}

// renew begins the wait anew.
func (p *patience) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	if p.stop != nil {
		p.stop()
	}
	p.stop = p.clock.AfterFunc(min(p.quiet, p.ends.Sub(p.clock.Now())), func() { p.end(errSlow) })
}

func (p *patience) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.stop()
	p.end(nil)
}
