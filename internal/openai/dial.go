package openai

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// errForbidden: the endpoint's name leads to an address that is never asked.
var errForbidden = errors.New("openai: a link-local address is never asked")

// forbidden says whether an address is link-local, in whatever clothes.
func forbidden(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast()
}

// guarded is a client that follows no redirect, since that would take the key to where nobody meant it to go, and whose connections lead to
// no link-local address. Of a client that was given, its transport is kept if it is none that dials.
func guarded(given *http.Client) *http.Client {
	own := http.Client{}
	if given != nil {
		own = *given
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own.Jar = nil
	switch t := own.Transport.(type) {
	case nil:
		own.Transport = newTransport()
	case *http.Transport:
		t = t.Clone()
		t.DialContext, t.DialTLSContext = checked(t.DialContext), nil
		own.Transport = t
	}
	return &own
}

// newTransport asks for no compression: a few bytes that unpack to very many would pass every other bound.
func newTransport() *http.Transport {
	return &http.Transport{DialContext: checked(nil), DisableCompression: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true}
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// checked looks at the address that a connection has, before anything is sent on it: what a name meant a moment ago does not count.
func checked(dial dialer) dialer {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if at, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil && forbidden(at.Addr()) {
			_ = conn.Close()
			return nil, errForbidden
		}
		return conn, nil
	}
}
