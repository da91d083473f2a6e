// Package redirects follows redirects without giving credentials away.
package redirects

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

const maxRedirects = 5

// WithoutCredentials returns a copy of h that sends no credentials to another server. A stack
// redirects readers of events to an address that contains their authorization. The rule is stricter
// than that of [http.Client], which trusts subdomains of the first host, and any port.
//
// A request that changes something follows only a redirect on the same server that keeps its method
// and body. [http.Client] would turn a POST into a GET, whose answer isn't that of the request.
//
// final wraps the error of a redirect that another attempt would meet again.
func WithoutCredentials(h *http.Client, final func(error) error) *http.Client {
	careful := *h
	before := h.CheckRedirect
	careful.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		first := via[0].URL
		switch {
		case len(via) > maxRedirects:
			return final(fmt.Errorf("client: the server redirected the request more than %d times", maxRedirects))
		case first.Scheme == "https" && req.URL.Scheme != "https":
			return final(errors.New("client: the server redirected the request from https to an address without https"))
		case via[0].Method != http.MethodGet && (req.Method != via[0].Method || elsewhere(req, first)):
			return final(fmt.Errorf("client: the server redirected a %s request to %s://%s, where the client doesn't repeat it; if that is the server, make it the base URL",
				via[0].Method, req.URL.Scheme, req.URL.Host))
		case elsewhere(req, first) || slices.ContainsFunc(via, func(r *http.Request) bool { return elsewhere(r, first) }):
			req.Header.Del("Authorization")
			req.Header.Del("Cookie")
			req.Header.Del("Referer") // names the server and the run
		}
		if before != nil {
			return before(req, via)
		}
		return nil
	}
	return &careful
}

// elsewhere reports whether the request goes to another server than first.
func elsewhere(req *http.Request, first *url.URL) bool {
	return req.URL.Host != first.Host || req.URL.Scheme != first.Scheme
}

// WithoutTicket hides the address that the request was redirected to: anyone who has it may read
// the stream.
func WithoutTicket(err error, first *http.Request) error {
	failed, ok := errors.AsType[*url.Error](err)
	if !ok || failed.URL == first.URL.String() {
		return err
	}
	where := "the address of the stream"
	if u, unread := url.Parse(failed.URL); unread == nil {
		where = u.Scheme + "://" + u.Host
	}
	return &url.Error{Op: failed.Op, URL: where, Err: failed.Err}
}
