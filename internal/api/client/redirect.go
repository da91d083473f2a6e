package client

import (
	"errors"
	"fmt"
	"net/http"
)

const mostRedirects = 5

// withoutCredentials is the client h, which takes nothing that lets a caller in to another server:
// a stack sends readers of events on to an address that carries what lets them in. It is stricter
// than [http.Client], which trusts names below the one that was asked, and any port.
func withoutCredentials(h *http.Client) *http.Client {
	careful := *h
	before := h.CheckRedirect
	careful.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		first := via[0].URL
		switch {
		case len(via) > mostRedirects:
			return fmt.Errorf("it was sent on more than %d times", mostRedirects)
		case first.Scheme == "https" && req.URL.Scheme != "https":
			return errors.New("it was sent on from https to an address that is not")
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
