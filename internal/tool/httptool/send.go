package httptool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// execution is one execution of a call.
type execution struct {
	*request
	message message
	secrets secret.Values
	call    core.ToolCall
}

// exchange is the result of sending once: an answer or an error. If sent is false, the service
// cannot have received the request.
type exchange struct {
	answer *answer
	err    error
	sent   bool
}

// mostRedirects limits how many redirects are followed.
const mostRedirects = 5

// redirectError reports a redirect that is not followed.
type redirectError struct{ why string }

func (r redirectError) Error() string { return r.why }

// send sends the request once. A read-only request follows redirects.
func (e *execution) send(ctx context.Context) exchange {
	at := e.message.url
	for hop := range mostRedirects + 1 {
		a := e.sendTo(ctx, at)
		a.sent = a.sent || hop > 0
		if a.answer == nil || !a.answer.redirects() || !e.http.Safe() {
			return a
		}
		next, err := e.follow(at, a.answer.location)
		if err != nil {
			return exchange{err: err, sent: true}
		}
		at = next
	}
	return exchange{err: redirectError{fmt.Sprintf("it redirected more than %d times", mostRedirects)}, sent: true}
}

// follow returns the target of a redirect, if it may be followed. Every address is checked again
// when it is dialled.
func (e *execution) follow(at *url.URL, location string) (*url.URL, error) {
	next, err := at.Parse(location)
	switch {
	case err != nil || location == "" || next.Host == "" || next.Scheme != "http" && next.Scheme != "https":
		return nil, redirectError{"it redirected to an invalid address"}
	case next.User != nil:
		return nil, redirectError{"it redirected to a URL with a user name in it"}
	case at.Scheme == "https" && next.Scheme == "http":
		return nil, redirectError{"it redirected from https to http"}
	case !e.home(next) && e.secrets.In(location):
		return nil, redirectError{"it redirected to another host and the URL contains a secret of this tool"}
	}
	if e.leads != nil {
		if err := e.leads(e.call, e.message.method, next); err != nil {
			return nil, redirectError{err.Error()}
		}
	}
	next.Fragment = ""
	return next, nil
}

// home reports whether a URL belongs to the service that the file names. Only that service receives
// the headers of the file, which may contain secrets.
func (e *execution) home(u *url.URL) bool {
	host, port := netguard.SplitAuthority(u.Scheme, u.Host)
	homeHost, homePort := netguard.SplitAuthority(e.message.url.Scheme, e.message.url.Host)
	return u.Scheme == e.message.url.Scheme && netguard.CanonicalHost(host) == netguard.CanonicalHost(homeHost) && port == homePort
}

func (e *execution) sendTo(ctx context.Context, at *url.URL) exchange {
	ctx, done := context.WithCancel(ctx)
	defer done()
	ctx = netguard.Through(ctx, e.access(at))
	var sent atomic.Bool
	// Once a connection exists, TLS included, the request may be on its way: if the connection
	// breaks, it is unknown how much of it the service received.
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }}
	resp, err := e.caller.guard.RoundTrip(e.packed(httptrace.WithClientTrace(ctx, trace), at))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return exchange{err: err, sent: sent.Load()}
	}
	defer resp.Body.Close()
	a := read(resp, e.http.Most())
	if cause := context.Cause(ctx); a.broken != nil && cause != nil {
		a.broken = cause
	}
	return exchange{answer: a, sent: true}
}

// access returns the restrictions for one request. A secret may be sent over plain HTTP only to a
// private address.
func (e *execution) access(at *url.URL) netguard.Access {
	return netguard.Access{Private: e.http.AllowPrivate, Clear: at.Scheme == "http" && e.home(at) && len(e.secrets) > 0}
}

// packed returns a new request for the message, because a body can be read only once.
func (e *execution) packed(ctx context.Context, at *url.URL) *http.Request {
	req := (&http.Request{Method: e.message.method, URL: at, Header: e.message.own.Clone(), Host: at.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).
		WithContext(ctx)
	if e.home(at) {
		for name, values := range e.message.headers {
			req.Header[name] = values
		}
	}
	if e.message.body != nil {
		req.Body = io.NopCloser(bytes.NewReader(e.message.body))
		req.ContentLength = int64(len(e.message.body))
	}
	return req
}
