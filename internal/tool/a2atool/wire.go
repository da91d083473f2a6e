package a2atool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// answer is what came back for one request. The SDK shows it only in the text of its errors, and
// would read it without a limit.
type answer struct {
	most   int64  // bytes that are read of it
	status int    // 0: no answer came
	body   []byte // all of it, unless err is set
	err    error  // of the transport, or why the body is not whole
}

// errLong reports that an answer is longer than the definition allows.
var errLong = errors.New("the answer is too long")

type answerKey struct{}

// watched returns a context whose request keeps its answer in a.
func watched(ctx context.Context, a *answer) context.Context {
	return context.WithValue(ctx, answerKey{}, a)
}

// transport adds the headers of the definition to each request, and reads the answer completely.
type transport struct {
	next    http.RoundTripper
	headers http.Header
	agent   string // User-Agent, if the definition has none
}

// client returns a client that follows no redirect.
func (r *remoteAgent) client(headers http.Header) *http.Client {
	c := *r.o.HTTP(r.to)
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	c.Transport = &transport{next: next, headers: headers, agent: "dormouse/" + cmp.Or(r.o.Version, "unknown")}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Jar = nil
	return &c
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	a := r.Context().Value(answerKey{}).(*answer) // every request is watched
	r = r.Clone(r.Context())
	r.Close = true // no connection is kept
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", t.agent)
	for name, values := range t.headers {
		r.Header[name] = values
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		a.err = err
		return nil, err
	}
	a.status = resp.StatusCode
	a.body, a.err = whole(resp.Body, a.most)
	_ = resp.Body.Close() // what is left of it is not wanted
	if a.err != nil {
		return nil, a.err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body))
	return resp, nil
}

// whole reads a body to its end, or fails.
func whole(from io.Reader, most int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(body)) > most {
		err = errLong
	}
	return body, err
}

var _ engine.Peer = (*remoteAgent)(nil)
