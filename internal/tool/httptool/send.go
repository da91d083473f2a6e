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

// execution is one call at hand.
type execution struct {
	*request
	message message
	secrets secret.Values
	call    core.ToolCall
}

// exchange is what sending once came to: an answer or an error. Sent says that the service may have
// the request; as long as that is false nothing has happened.
type exchange struct {
	answer *answer
	err    error
	sent   bool
}

// mostRedirects is how many redirects are followed.
const mostRedirects = 5

// redirectError: an answer sends the request somewhere it does not go.
type redirectError struct{ why string }

func (r redirectError) Error() string { return r.why }

// send sends once; what only reads goes on to where a redirect leads.
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

// follow says where a redirect leads, if it may be followed. Every address is looked at again when
// it is dialled.
func (e *execution) follow(at *url.URL, location string) (*url.URL, error) {
	next, err := at.Parse(location)
	switch {
	case err != nil || location == "" || next.Host == "" || next.Scheme != "http" && next.Scheme != "https":
		return nil, redirectError{"it redirected to no place that can be asked"}
	case next.User != nil:
		return nil, redirectError{"it redirected to a URL with a user name in it"}
	case at.Scheme == "https" && next.Scheme == "http":
		return nil, redirectError{"it redirected from https to http"}
	case !e.home(next) && e.secrets.In(location):
		return nil, redirectError{"it redirected to another host with a secret of this tool"}
	}
	if e.leads != nil {
		if err := e.leads(e.call, e.message.method, next); err != nil {
			return nil, redirectError{err.Error()}
		}
	}
	next.Fragment = ""
	return next, nil
}

// home says whether a URL is of the service that the file names. Only that one is sent the headers
// of the file: they may hold secrets.
func (e *execution) home(u *url.URL) bool {
	host, port := netguard.SplitAuthority(u.Scheme, u.Host)
	homeHost, homePort := netguard.SplitAuthority(e.message.url.Scheme, e.message.url.Host)
	return u.Scheme == e.message.url.Scheme && netguard.CanonicalHost(host) == netguard.CanonicalHost(homeHost) && port == homePort
}

func (e *execution) sendTo(ctx context.Context, at *url.URL) exchange {
	ctx, done := context.WithCancel(ctx)
	defer done()
	ctx = netguard.Through(ctx, e.door(at))
	var sent atomic.Bool
	// A connection that is there, its TLS included, is about to carry the request; nobody knows
	// how far that got if it breaks.
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

// door is that of one request. Where it goes in the clear, no address but a private one is good
// enough for a secret.
func (e *execution) door(at *url.URL) netguard.Door {
	return netguard.Door{Private: e.http.AllowPrivate, Clear: at.Scheme == "http" && e.home(at) && len(e.secrets) > 0}
}

// packed is the message as a request of its own, since a body is read only once.
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
