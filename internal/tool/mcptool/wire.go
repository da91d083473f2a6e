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

// mostRead limits how much of one answer is read, including a stream with all its notifications. An
// answer is read completely or not at all, so this exceeds the limit of a tool's result: images are
// a third longer on the wire, and every character may be escaped.
const mostRead = 4 << 20

// errLong ends the reading of an answer that is too long.
var errLong = errors.New("the answer is too long")

// wire is what was observed on the wire during one call or one connect. The SDK hides it in the
// text of its errors.
type wire struct {
	sent   atomic.Bool  // a connection existed to carry the request
	status atomic.Int64 // of the last answer that is not a success
	long   atomic.Bool  // the answer was too long to be read
	after  atomic.Int64 // the delay that the server asked for, in nanoseconds

	alone atomic.Bool // only the next request counts: it is the call
	begun atomic.Bool // that request has been sent
}

// only discards what was observed and observes only the next request. Requests beside a call, such
// as the answer to a question of the server or a cancellation, say nothing about the call.
func (w *wire) only() {
	w.sent.Store(false)
	w.alone.Store(true)
}

type wireKey struct{}

func watched(ctx context.Context, w *wire) context.Context {
	return context.WithValue(ctx, wireKey{}, w)
}

// transport adds the headers of the definition to every request, and observes it.
type transport struct {
	next    http.RoundTripper
	headers http.Header
	clock   engine.Clock
}

// client returns the client for a link. It follows no redirect.
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
	// Once a connection exists, TLS included, the request may be on its way: if the connection
	// breaks, it is unknown how much of it the server received.
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

// longestAfter limits the delay that a busy server may ask for.
const longestAfter = time.Minute

// bounded is a body that fails once more than the limit is read.
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
