package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// maxAnswer bounds how much of an answer is read.
const maxAnswer = 64 << 20

// request is one call before it is sent.
type request struct {
	method string
	path   string
	query  url.Values
	header map[string]string
	body   any  // nil for none
	once   bool // sending it twice would have two effects
	// says of an answer with an error status that it is no refusal; nil if none is
	accepts func(answer []byte) bool
}

// do sends the request, again if that is needed and safe, and reads the answer into to.
func (c *Client) do(ctx context.Context, r request, to any) error {
	body, err := encode(r.body)
	if err != nil {
		return err
	}
	if err := checkKey(r.header[keyHeader]); err != nil {
		return err
	}
	answer, err := c.retry(ctx, r.once, func() ([]byte, error) { return c.exchange(ctx, r, body) })
	if err != nil || to == nil {
		return err
	}
	if err := json.Unmarshal(answer, to); err != nil {
		return fmt.Errorf("client: decoding the answer to %s %s: %w", r.method, r.path, err)
	}
	if v, ok := to.(checked); ok && !v.complete() {
		return fmt.Errorf("client: the answer to %s %s is not that of a Dormouse server; check the base URL, and proxies on the way", r.method, r.path)
	}
	return nil
}

// checked is an answer that says that something was stored. Another server, such as a proxy with a
// page of its own, may answer with any JSON.
type checked interface{ complete() bool }

func (r *Run) complete() bool             { return r.ID != "" }
func (a *DecisionAnswer) complete() bool  { return a.Code != "" }
func (a *DecisionAnswers) complete() bool { return len(a.Answers) > 0 }
func (l *Link) complete() bool            { return l.ID != "" }
func (w *Webhook) complete() bool         { return w.ID != "" }
func (d *Delivery) complete() bool        { return d.ID != "" }

// exchange sends the request once. A refusal is an [*Error]; every other error means that no answer
// of the server was read, so that the request may or may not have taken effect.
func (c *Client) exchange(ctx context.Context, r request, body []byte) ([]byte, error) {
	req, err := c.request(ctx, r, body)
	if err != nil {
		return nil, permanent{err}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	defer resp.Body.Close()
	answer, err := readAnswer(resp)
	if err != nil {
		return nil, err
	}
	if !success(resp) && (r.accepts == nil || !r.accepts(answer)) {
		return nil, refusal(resp, answer)
	}
	return answer, nil
}

// success reports whether the server did what was requested. A redirect that can't be followed is
// none.
func success(resp *http.Response) bool { return resp.StatusCode/100 == 2 }

func readAnswer(resp *http.Response) ([]byte, error) {
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("client: reading the answer: %w", err)
	case len(answer) > maxAnswer:
		return nil, permanent{fmt.Errorf("client: the answer is longer than %d MiB", maxAnswer>>20)}
	}
	return answer, nil
}

// encode writes a body without escaping HTML: the server keeps, and shows, a result as it was
// written.
func encode(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("client: encoding the request: %w", err)
	}
	return bytes.TrimSuffix(raw.Bytes(), []byte("\n")), nil
}

func (c *Client) request(ctx context.Context, r request, body []byte) (*http.Request, error) {
	if c.wrong != nil {
		return nil, c.wrong
	}
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, reader)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.userAgent)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	c.authorize(req)
	for name, value := range r.header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return req, nil
}

func (c *Client) authorize(req *http.Request) {
	switch {
	case c.token != "":
		req.Header.Set("Authorization", "Bearer "+c.token)
	case c.user != nil && c.sign == nil:
		password, _ := c.user.Password()
		req.SetBasicAuth(c.user.Username(), password)
	}
}

func get[T any](ctx context.Context, c *Client, path string, q url.Values) (T, error) {
	var v T
	err := c.do(ctx, request{method: http.MethodGet, path: path, query: q}, &v)
	return v, err
}

func add(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func addTime(q url.Values, name string, at time.Time) {
	if !at.IsZero() {
		q.Set(name, at.Format(time.RFC3339Nano))
	}
}

func addNumber(q url.Values, name string, n int) {
	if n > 0 {
		q.Set(name, strconv.Itoa(n))
	}
}

// wholeSeconds rounds up, so that a short wait is still one.
func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

func runPath(id, rest string) string    { return "/v1/runs/" + url.PathEscape(id) + rest }
func threadPath(id, rest string) string { return "/v1/threads/" + url.PathEscape(id) + rest }
