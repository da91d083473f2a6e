// Package netguard decides which network addresses the requests of agents may reach. Agent authors
// write addresses: of HTTP tools, MCP servers and model endpoints. All of them are connected to
// through one [Guard], which knows public networks, the metadata services of clouds, and what the
// operator allows beside. It sends nothing by itself and knows nothing of agents.
package netguard

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Clock limits how long one of several addresses may take.
type Clock interface {
	AfterFunc(d time.Duration, f func()) (stop func())
}

// Options are the surroundings of a guard. Clock is required.
type Options struct {
	Clock   Clock
	Private Private // what the operator allows beside public addresses

	// nil: the machine's resolver
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// called for allowed addresses only; nil: the machine's network
	Dial func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
	// nil: the machine's certificates
	TLS *tls.Config
}

// Guard opens connections. Safe for concurrent use.
type Guard struct {
	o         Options
	transport *http.Transport
}

// maxHeader bounds the headers of an answer.
const maxHeader = 64 << 10

// New returns a guard. It keeps no connection: one that was opened through the [Door] of one
// request must not carry another, which may be allowed less. It uses no proxy, whatever the
// environment says, since a proxy would open the connections and only its own address could be
// checked. It asks for no compression, since a few bytes that unpack to very many would pass every
// other bound.
func New(o Options) *Guard {
	if o.Lookup == nil {
		o.Lookup = lookup
	}
	if o.Dial == nil {
		o.Dial = dial
	}
	g := &Guard{o: o}
	g.transport = &http.Transport{DialContext: g.dial, TLSClientConfig: o.TLS, DisableKeepAlives: true, DisableCompression: true,
		MaxResponseHeaderBytes: maxHeader}
	return g
}

// RoundTrip implements [http.RoundTripper]. The request goes through the door of its context, see
// [Through]; without one, to public addresses only.
func (g *Guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, ok := r.Context().Value(doorKey{}).(opened); !ok {
		r = r.WithContext(Through(r.Context(), Door{}))
	}
	return g.transport.RoundTrip(r)
}
