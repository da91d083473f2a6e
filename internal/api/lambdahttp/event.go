// Package lambdahttp serves an http.Handler from the two kinds of HTTP events that a Lambda
// function receives: those of an API Gateway HTTP API ([Buffered]) and those of a function URL that
// streams ([Streamed]). It translates events and responses, and returns the caller that the
// gateway's authorizer identified. It doesn't route, check tokens or know runs.
package lambdahttp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// event is what the two kinds of events have in common: payload format 2.0.
type event struct {
	method, path, query string
	routeKey, stage     string // of API Gateway alone
	headers             map[string]string
	cookies             []string
	body                string
	base64              bool
	host, source, id    string
	caller              Caller
}

func ofGateway(e events.APIGatewayV2HTTPRequest) event {
	c := e.RequestContext
	return event{method: c.HTTP.Method, path: e.RawPath, query: e.RawQueryString, routeKey: e.RouteKey, stage: c.Stage,
		headers: e.Headers, cookies: e.Cookies, body: e.Body, base64: e.IsBase64Encoded,
		host: c.DomainName, source: c.HTTP.SourceIP, id: c.RequestID, caller: callerOf(c.Authorizer)}
}

func ofURL(e events.LambdaFunctionURLRequest) event {
	c := e.RequestContext
	return event{method: c.HTTP.Method, path: e.RawPath, query: e.RawQueryString,
		headers: e.Headers, cookies: e.Cookies, body: e.Body, base64: e.IsBase64Encoded,
		host: c.DomainName, source: c.HTTP.SourceIP, id: c.RequestID}
}

// errNoRequest is an event that no HTTP request can have been.
var errNoRequest = errors.New("lambdahttp: the event is not an HTTP request in payload format 2.0; configure the integration to use that format")

// request is the request as a listening server would read it, without the Authorization header. The
// authorizer has already identified the caller, so the header is neither checked again nor logged.
func (e event) request(ctx context.Context) (*http.Request, error) {
	if e.method == "" || !strings.HasPrefix(e.path, "/") {
		return nil, errNoRequest
	}
	body := []byte(e.body)
	if e.base64 {
		var err error
		if body, err = base64.StdEncoding.DecodeString(e.body); err != nil {
			return nil, fmt.Errorf("lambdahttp: the event says that its body is base64, but it is not: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, e.method, "/", bodyOf(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoRequest, err)
	}
	r.URL = e.url()
	r.RequestURI = r.URL.RequestURI()
	r.ContentLength = int64(len(body))
	e.setHeader(r)
	if e.source != "" {
		r.RemoteAddr = net.JoinHostPort(e.source, "0")
	}
	return r, nil
}

// url keeps the path's escapes where it has some that can be read. API Gateway has undone some of
// them already.
func (e event) url() *url.URL {
	u := &url.URL{Path: e.within(), RawQuery: e.query}
	if path, err := url.PathUnescape(u.Path); err == nil && path != u.Path {
		u.Path, u.RawPath = path, u.Path
	}
	return u
}

// within is the path that the API serves. API Gateway can put the name of the stage before it, or
// the key that maps a custom domain to the API: "/prod/v1/runs" becomes "/v1/runs". A route that
// names its whole path shows where ours begins; otherwise only the stage's name is removed.
func (e event) within() string {
	_, route, _ := strings.Cut(e.routeKey, " ")
	if strings.HasPrefix(route, "/") && !strings.Contains(route, "+}") {
		return behind(e.path, route)
	}
	if rest, ok := strings.CutPrefix(e.path, "/"+e.stage+"/"); ok && e.stage != "" && e.stage != "$default" {
		return "/" + rest
	}
	return e.path
}

// behind is the end of a path that a route has matched; the whole path if it does not look like
// that.
func behind(path, route string) string {
	segments, pattern := strings.Split(path, "/")[1:], strings.Split(route, "/")[1:]
	more := len(segments) - len(pattern)
	if more <= 0 {
		return path
	}
	for i, want := range pattern {
		if !strings.HasPrefix(want, "{") && segments[more+i] != want {
			return path
		}
	}
	return "/" + strings.Join(segments[more:], "/")
}

// setHeader takes the headers in a fixed order: two that differ by case alone are values of one.
func (e event) setHeader(r *http.Request) {
	names := make([]string, 0, len(e.headers))
	for name := range e.headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		r.Header.Add(name, e.headers[name])
	}
	if len(e.cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(e.cookies, "; "))
	}
	r.Host = e.host
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	for _, name := range []string{"Authorization", "Host", "Transfer-Encoding"} {
		r.Header.Del(name)
	}
}
