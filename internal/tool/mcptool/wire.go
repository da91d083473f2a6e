package mcptool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/text/retryafter"
)

// mostRead is how much is read of one answer, a stream with all its notifications included. An
// answer is read whole or not at all, so this is more than what a tool may return: images are a
// third longer on the wire, and every character may be escaped.
const mostRead = 4 << 20

// errLong ends the reading of an answer.
var errLong = errors.New("the answer is too long")

// wire is what is seen on the wire of one call, or of one connecting. The SDK hides it in the text
// of its errors.
type wire struct {
	sent   atomic.Bool  // a connection was there to carry the request
	status atomic.Int64 // of the last answer that is no success
	long   atomic.Bool  // the answer was longer than is read
	after  atomic.Int64 // for how long the server wants to be left alone, in nanoseconds

	alone atomic.Bool // only the next request counts: it is the call
	begun atomic.Bool // and it has come
}

// only forgets what was seen, and sees nothing but the next request. What is sent beside a call, as
// the answer to a question of the server or word that nobody waits any more, says nothing of the
// call.
func (w *wire) only() {
	w.sent.Store(false)
	w.alone.Store(true)
}

type wireKey struct{}

func watched(ctx context.Context, w *wire) context.Context {
	return context.WithValue(ctx, wireKey{}, w)
}

// transport puts the headers of the definition on every request, and watches.
type transport struct {
	next    http.RoundTripper
	headers http.Header
	clock   engine.Clock
}

// client is the one for a link. No redirect is followed.
func (t *Tools) client(l link) *http.Client {
	c := *t.o.HTTP(l.server)
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	c.Transport = &transport{next: next, headers: l.headers, clock: t.o.Clock}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Jar = nil
	return &c
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w, ok := r.Context().Value(wireKey{}).(*wire)
	if !ok || w.alone.Load() && w.begun.Swap(true) {
		w = &wire{}
	}
	// A connection that is there, its TLS included, is about to carry the request; nobody knows
	// how far that got if it breaks.
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { w.sent.Store(true) }}
	r = r.Clone(httptrace.WithClientTrace(r.Context(), trace))
	for name, values := range t.headers {
		r.Header[name] = values
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		w.status.Store(int64(resp.StatusCode))
		w.after.Store(int64(min(retryafter.Parse(resp.Header.Get("Retry-After"), t.clock.Now()), longestAfter)))
	}
	resp.Body = &bounded{ReadCloser: resp.Body, left: mostRead, w: w}
	return resp, nil
}

// longestAfter is how long a busy server is left alone at most, whatever it asks for.
const longestAfter = time.Minute

// bounded is a body of which no more is read than may be.
type bounded struct {
	io.ReadCloser
	left int
	w    *wire
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.w.long.Store(true)
		return 0, errLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
