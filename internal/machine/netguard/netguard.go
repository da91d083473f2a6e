// Package netguard decides which network addresses the requests of agents may reach. Agent authors
// choose addresses of HTTP tools, MCP servers and model endpoints. All connections to them go
// through one [Guard], which knows public networks, the metadata services of clouds, and the
// additional addresses that the operator allows. It sends nothing itself and knows nothing about
// agents.
package netguard

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Clock limits the time for one of several addresses.
type Clock interface {
	AfterFunc(d time.Duration, f func()) (stop func())
}

// Options configure a guard. Clock is required.
type Options struct {
	Clock   Clock
	Private Private // addresses that the operator allows besides public ones

	// Lookup resolves host names; nil uses the resolver of the machine.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial is called for allowed addresses only; nil uses the network of the machine.
	Dial func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
	// TLS is the client configuration; nil uses the certificates of the machine.
	TLS *tls.Config
}

// Guard opens connections. It is safe for concurrent use.
type Guard struct {
	o         Options
	transport *http.Transport
}

// maxHeader limits the headers of a response.
const maxHeader = 64 << 10

// New returns a guard. As a transport, it keeps no connections, because a connection of one request
// must not carry another, which may be allowed less; see [Guard.Keep]. It uses no proxy, even
// if the environment configures one, because the proxy would open the connections and only its own
// address could be checked. It requests no compression, because a few bytes that unpack to very
// many would bypass every other limit.
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

// RoundTrip implements [http.RoundTripper]. The restrictions of the request come from its context,
// see [Through]; without any, it reaches public addresses only.
func (g *Guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, ok := r.Context().Value(accessKey{}).(opened); !ok {
		r = r.WithContext(Through(r.Context(), Access{}))
	}
	return g.transport.RoundTrip(r)
}
