package client

import (
	"errors"
	"fmt"
	"net/http"
)

const maxRedirects = 5

// withoutCredentials returns a copy of h that sends no credentials to another server. A stack
// redirects readers of events to an address that contains their authorization. The rule is stricter
// than that of [http.Client], which trusts subdomains of the first host, and any port.
func withoutCredentials(h *http.Client) *http.Client {
	careful := *h
	before := h.CheckRedirect
	careful.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		first := via[0].URL
		switch {
		case len(via) > maxRedirects:
			return fmt.Errorf("the server redirected the request more than %d times", maxRedirects)
		case first.Scheme == "https" && req.URL.Scheme != "https":
			return errors.New("the server redirected the request from https to an address without https")
		case req.URL.Host != first.Host || req.URL.Scheme != first.Scheme:
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
