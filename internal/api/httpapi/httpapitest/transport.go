package httpapitest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Reporter receives what the document doesn't describe. A test is a Reporter.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// Transport is base, and holds every exchange against the document. A stream is held against it as
// it is closed.
func (c *Contract) Transport(t Reporter, base http.RoundTripper) http.RoundTripper {
	return transport{contract: c, reporter: t, base: base}
}

type transport struct {
	contract *Contract
	reporter Reporter
	base     http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := &tape{most: 4 << 20}
	if r.Body != nil && r.Body != http.NoBody {
		r = r.Clone(r.Context())
		r.Body = taped{Reader: io.TeeReader(r.Body, sent), Closer: r.Body}
	}
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	x := exchange{request: r, sent: sent, response: resp}
	if x.streamed() {
		got := &tape{most: 64 << 20}
		resp.Body = &closing{Reader: io.TeeReader(resp.Body, got), body: resp.Body, done: func() { t.check(x, got.text(), true) }}
		return resp, nil
	}
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(got), failing{err}))
	t.check(x, got, err == nil)
	return resp, nil
}

func (t transport) check(x exchange, got []byte, whole bool) {
	t.reporter.Helper()
	if err := t.contract.check(x, got, whole); err != nil {
		t.reporter.Errorf("not in the OpenAPI document: %s %s answered %d: %v\nsent: %s\ngot: %s", x.request.Method, x.request.URL.RequestURI(),
			x.response.StatusCode, err, clip(x.sent.text()), clip(got))
	}
}

func clip(text []byte) string {
	if len(text) > 2000 {
		return fmt.Sprintf("%s... (%d bytes)", text[:2000], len(text))
	}
	return string(text)
}

// tape keeps what is written to it, up to a size. The server may still read while the answer is
// there.
type tape struct {
	mu   sync.Mutex
	b    []byte
	most int
}

func (t *tape) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.b) < t.most {
		t.b = append(t.b, p...)
	}
	return len(p), nil
}

func (t *tape) text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.b)
}

type taped struct {
	io.Reader
	io.Closer
}

// failing ends a body as it ended.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil || errors.Is(f.err, io.EOF) {
		return 0, io.EOF
	}
	return 0, f.err
}

// closing calls done once the body is closed.
type closing struct {
	io.Reader
	body io.Closer
	once sync.Once
	done func()
}

func (c *closing) Close() error {
	err := c.body.Close()
	c.once.Do(c.done)
	return err
}
