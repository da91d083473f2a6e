package httptool

import (
	"net/http"
	"net/url"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

// Client is a client for one server that a definition names, with the rules of HTTP tools for what it may reach: public addresses; others only
// where both the server and the operator allow them; and none but those in the clear if its headers hold a secret. It follows no redirect, which
// would carry those headers elsewhere, uses no proxy and keeps no connection. The headers, and how much of an answer is read, are its user's own.
func (c *Caller) Client(s agent.Server) *http.Client {
	secrets := agent.Definition{Servers: map[string]agent.Server{"": s}}.Secrets()
	return &http.Client{Transport: narrow{caller: c, private: s.AllowPrivate, secret: len(secrets) > 0},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// narrow is the caller's transport with one server's door in front of each request.
type narrow struct {
	caller          *Caller
	private, secret bool
}

// RoundTrip implements [http.RoundTripper].
func (n narrow) RoundTrip(r *http.Request) (*http.Response, error) {
	d := door{request: r.Context(), clear: n.secret && r.URL.Scheme == "http"}
	if n.private {
		d.private = n.caller.o.Private
	}
	return n.caller.transport.RoundTrip(r.WithContext(through(r.Context(), d)))
}

// target says where a server is, as far as that is needed to look at its address.
func target(s agent.Server) (scheme, host string) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return "", ""
	}
	return u.Scheme, u.Host
}
