package httptool

import (
	"net/http"
	"net/url"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// Client returns a client for one server of a definition. The rules of HTTP tools apply: it reaches
// public addresses, and other addresses only if both the server and the operator allow them; if the
// headers contain a secret, it uses plain HTTP only for private addresses. It follows no redirect,
// because that would send the headers elsewhere, uses no proxy, and keeps no connection. The caller
// sets the headers and limits how much of an answer is read.
func (c *Caller) Client(s agent.Server) *http.Client {
	return c.client(s.AllowPrivate, agent.Definition{Servers: map[string]agent.Server{"": s}}.Secrets())
}

// Peer returns a client for an agent that runs elsewhere, under the rules of [Caller.Client].
func (c *Caller) Peer(a agent.A2A) *http.Client {
	return c.client(a.AllowPrivate, agent.SecretsIn(a.Headers))
}

// Endpoint returns a client for the endpoint of a model, under the rules of [Caller.Client]. For a
// private address the operator's permission is enough: the agent file names that one address, and
// no argument can change it. Unlike other clients, it keeps connections, because each step of a run
// asks the model.
func (c *Caller) Endpoint(m agent.Model) *http.Client {
	scheme, _ := target(m.BaseURL)
	secrets := agent.Definition{Model: m}.Secrets()
	return direct(c.guard.Keep(netguard.Access{Private: true, Clear: len(secrets) > 0 && scheme != "https"}))
}

func (c *Caller) client(private bool, secrets []string) *http.Client {
	return direct(narrow{caller: c, private: private, secret: len(secrets) > 0})
}

// direct returns a client that follows no redirect.
func direct(by http.RoundTripper) *http.Client {
	return &http.Client{Transport: by, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// narrow applies the restrictions of one server or endpoint to each request.
type narrow struct {
	caller          *Caller
	private, secret bool
}

// RoundTrip implements [http.RoundTripper].
func (n narrow) RoundTrip(r *http.Request) (*http.Response, error) {
	d := netguard.Access{Private: n.private, Clear: n.secret && r.URL.Scheme == "http"}
	return n.caller.guard.RoundTrip(r.WithContext(netguard.Through(r.Context(), d)))
}

// target returns the scheme and the host of a URL, or nothing if the URL is invalid.
func target(text string) (scheme, host string) {
	u, err := url.Parse(text)
	if err != nil {
		return "", ""
	}
	return u.Scheme, u.Host
}
