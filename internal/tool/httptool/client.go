package httptool

import (
	"net/http"
	"net/url"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// Client is a client for one server that a definition names, with the rules of HTTP tools for what
// it may reach: public addresses; others only where both the server and the operator allow them;
// and none but those in the clear if its headers hold a secret. It follows no redirect, which would
// carry those headers elsewhere, uses no proxy and keeps no connection. The headers, and how much
// of an answer is read, are its user's own.
func (c *Caller) Client(s agent.Server) *http.Client {
	return c.client(s.AllowPrivate, agent.Definition{Servers: map[string]agent.Server{"": s}}.Secrets())
}

// Endpoint is a client for the endpoint of a model, under the rules of [Caller.Client]. Private
// addresses need the operator alone: the file names the one address that is asked, and no argument
// can change it.
func (c *Caller) Endpoint(m agent.Model) *http.Client {
	return c.client(true, agent.Definition{Model: m}.Secrets())
}

func (c *Caller) client(private bool, secrets []string) *http.Client {
	return &http.Client{Transport: narrow{caller: c, private: private, secret: len(secrets) > 0},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// narrow is the caller's guard with the door of one server or endpoint in front of each request.
type narrow struct {
	caller          *Caller
	private, secret bool
}

// RoundTrip implements [http.RoundTripper].
func (n narrow) RoundTrip(r *http.Request) (*http.Response, error) {
	d := netguard.Door{Private: n.private, Clear: n.secret && r.URL.Scheme == "http"}
	return n.caller.guard.RoundTrip(r.WithContext(netguard.Through(r.Context(), d)))
}

// target is the scheme and the authority of a URL; nothing if it cannot be read.
func target(text string) (scheme, host string) {
	u, err := url.Parse(text)
	if err != nil {
		return "", ""
	}
	return u.Scheme, u.Host
}
