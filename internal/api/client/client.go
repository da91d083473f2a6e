// Package client speaks the HTTP API, version 1, in Go types. It sends each request once: whether
// to try again is the caller's choice, for which [Error.Temporary] and [Error.RetryAfter] say what
// the server knows.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// Client talks to one server. It is safe for concurrent use.
type Client struct {
	base  string
	user  *url.Userinfo // of the address; it is kept out of base, which errors repeat
	token string
	http  *http.Client
}

// New makes a client for the server at baseURL. An empty token sends none; a nil h is
// [http.DefaultClient]. A request that asks to be held needs a client whose timeout is longer. A
// name and password in baseURL are sent, as basic authorization, where there is no token; no error
// repeats them. Neither is sent to another server that the first one sends a request on to.
func New(baseURL, token string, h *http.Client) *Client {
	if h == nil {
		h = http.DefaultClient
	}
	var user *url.Userinfo
	if u, err := url.Parse(baseURL); err == nil && u.User != nil {
		user, u.User = u.User, nil
		baseURL = u.String()
	}
	return &Client{base: strings.TrimSuffix(baseURL, "/"), user: user, token: token, http: withoutCredentials(h)}
}

// Through is the same client on another network: its requests go through what wrap makes of the
// transport they went through before.
func (c *Client) Through(wrap func(http.RoundTripper) http.RoundTripper) *Client {
	other, transport := *c, *c.http
	inner := transport.Transport
	if inner == nil {
		inner = http.DefaultTransport
	}
	transport.Transport = wrap(inner)
	other.http = &transport
	return &other
}

// Error is a refusal. Its Status is that of HTTP. One without a Code is no word of the server: a
// gateway or a proxy before it refused.
type Error struct {
	wire.Problem
	// what a gateway said, in the member "message" of JSON; "" if it said nothing, and always
	// with a Code
	Message    string
	RetryAfter time.Duration // as the server asked; 0 if it did not
}

func (e *Error) Error() string {
	text := fmt.Sprintf("the server answered %d %s", e.Status, cmp.Or(e.Code, e.Title))
	if why := cmp.Or(e.Detail, e.Message); why != "" {
		text += ": " + why
	}
	return text
}

// Temporary says whether the same request may succeed later. A gateway that did not reach the
// server, or not in time, is that too.
func (e *Error) Temporary() bool {
	switch e.Status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusInsufficientStorage:
		return true
	}
	return false
}

// Unanswered says whether this is no word of the server on what was asked: it failed or was busy,
// or a gateway in front of it says that it was not reached. What was asked may be done or not; the
// same request with the same key finds out.
func (e *Error) Unanswered() bool { return e.Status >= http.StatusInternalServerError || e.Temporary() }

// request is one call before it is sent.
type request struct {
	method string
	path   string
	query  url.Values
	header map[string]string
	body   any // nil for none
}

// do sends the request and reads the answer into to. A refusal is an [*Error]; everything else
// means that no answer of the server was read, so that it may or may not have done what was asked.
func (c *Client) do(ctx context.Context, r request, to any) error {
	req, err := c.request(ctx, r)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("client: reading the answer: %w", err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return refusal(resp, body)
	}
	if to == nil {
		return nil
	}
	if err := json.Unmarshal(body, to); err != nil {
		return fmt.Errorf("client: the answer to %s %s: %w", r.method, r.path, err)
	}
	return nil
}

func (c *Client) request(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		var raw bytes.Buffer
		enc := json.NewEncoder(&raw)
		enc.SetEscapeHTML(false) // a server keeps, and shows, a result as it was written
		if err := enc.Encode(r.body); err != nil {
			return nil, fmt.Errorf("client: encoding the request: %w", err)
		}
		body = bytes.NewReader(bytes.TrimSuffix(raw.Bytes(), []byte("\n")))
	}
	if err := checkKey(r.header[keyHeader]); err != nil {
		return nil, err
	}
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	if r.body != nil {
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
	case c.user != nil:
		password, _ := c.user.Password()
		req.SetBasicAuth(c.user.Username(), password)
	}
}

// refusal reads a problem document; of an answer that is none, by a gateway perhaps, the status and
// its message are kept.
func refusal(resp *http.Response, body []byte) *Error {
	e := &Error{}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/problem+json" || json.Unmarshal(body, &e.Problem) != nil {
		e.Problem = wire.Problem{Title: http.StatusText(resp.StatusCode)}
	}
	if e.Code == "" {
		e.Message = gatewayWords(body)
	}
	e.Status = resp.StatusCode
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		e.RetryAfter = time.Duration(n) * time.Second
	}
	return e
}

// mostWords bounds what is kept of a gateway's message.
const mostWords = 500

// gatewayWords are the message in the body of a gateway's own answer; API Gateway writes the member
// as message, or as Message.
func gatewayWords(body []byte) string {
	var said struct {
		Message string `json:"message"` // found in any case
	}
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	return clip.Bytes(said.Message, mostWords, "...")
}
