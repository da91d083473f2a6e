package netguard

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Limits of a connection that carries several requests.
const (
	keptFor  = 45 * time.Second // without a request; servers often close it after 60 s
	mostKept = 64               // without a request, to one host
	setUp    = 30 * time.Second // for the connection, and again for TLS
)

// Keep returns a transport that keeps its connections for further requests, because a new one costs
// several round trips. All its requests have the restrictions d and no others, so
// none uses a connection that it may not open. It must not be shared by requests that differ in
// what they may reach or in whom they speak for. A kept connection leads to the address that was
// checked when it was opened, even if the name leads elsewhere by now.
//
// If the server has closed a kept connection, [http.Transport] repeats the requests that are marked
// as idempotent.
func (g *Guard) Keep(d Access) http.RoundTripper {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, authority string) (net.Conn, error) {
			// it may outlive its request, but not for long
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer g.o.Clock.AfterFunc(setUp, cancel)()
			return g.connect(ctx, d, authority)
		},
		TLSClientConfig: g.o.TLS, TLSHandshakeTimeout: setUp, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		IdleConnTimeout: keptFor, MaxIdleConnsPerHost: mostKept}
}
