package netguard

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// RefusedError says why a host has no address that a request may reach.
type RefusedError string

func (r RefusedError) Error() string { return string(r) }

// The reasons for refusing a connection.
const (
	ErrForbidden RefusedError = "it resolves to an address in a private or special network, but only public addresses are allowed"
	ErrClear     RefusedError = "it would send a secret unencrypted, which is allowed only to private addresses that the operator allows"
)

// mostAddresses limits how many addresses of one host are tried.
const mostAddresses = 4

// Access says which addresses one request may reach. The zero value allows public ones.
type Access struct {
	Private bool // also addresses that the operator allows
	Clear   bool // an unencrypted secret is sent, so not public addresses
}

type accessKey struct{}

// opened is the access of one request, together with that request. The connection ends with the
// request, even if it is still being established.
type opened struct {
	Access
	request context.Context
}

// Through sets the restrictions for the connections of the request that ctx belongs to.
func Through(ctx context.Context, d Access) context.Context {
	return context.WithValue(ctx, accessKey{}, opened{d, ctx})
}

func (g *Guard) open(d Access, host string, a netip.AddrPort) bool {
	return !d.Clear && Public(a.Addr()) || d.Private && g.o.Private.holds(host, a)
}

// shut is the reason if no address is allowed.
func (d Access) shut() error {
	if d.Clear {
		return ErrClear
	}
	return ErrForbidden
}

// dial opens a connection for one request, or for one of its redirects.
//
// [http.Transport] keeps establishing a connection even after its request has ended, so that a
// later request can use it. This transport keeps no connections, and a host that accepts them and
// stays silent would hold each one forever, so a connection ends with its request.
func (g *Guard) dial(ctx context.Context, _, authority string) (net.Conn, error) {
	d := ctx.Value(accessKey{}).(opened)
	ctx = d.request
	conn, err := g.connect(ctx, d.Access, authority)
	if err == nil {
		context.AfterFunc(ctx, func() { _ = conn.Close() })
	}
	return conn, err
}

// connect opens every connection. It looks up the name once and connects to the addresses that it
// has checked, so that a DNS answer that changes a moment later has no effect.
func (g *Guard) connect(ctx context.Context, d Access, authority string) (net.Conn, error) {
	host, port := SplitAuthority("", authority)
	addresses, err := g.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	var allowed []netip.AddrPort
	for _, a := range addresses {
		if at := netip.AddrPortFrom(a, port); g.open(d, host, at) && len(allowed) < mostAddresses {
			allowed = append(allowed, at)
		}
	}
	if len(allowed) == 0 {
		return nil, d.shut()
	}
	return g.dialOne(ctx, allowed)
}

func (g *Guard) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	found, err := g.o.Lookup(ctx, host)
	if err == nil && len(found) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return found, err
}

// oneAddress limits the time for one of several addresses before the next is tried.
const oneAddress = 3 * time.Second

// dialOne uses the first address that answers.
func (g *Guard) dialOne(ctx context.Context, addresses []netip.AddrPort) (conn net.Conn, err error) {
	for i, a := range addresses {
		conn, err = g.dialFor(ctx, a, i == len(addresses)-1)
		if err == nil || ctx.Err() != nil {
			return conn, err
		}
	}
	return nil, err
}

func (g *Guard) dialFor(ctx context.Context, a netip.AddrPort, last bool) (net.Conn, error) {
	if last {
		return g.o.Dial(ctx, a)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer g.o.Clock.AfterFunc(oneAddress, cancel)()
	return g.o.Dial(ctx, a)
}

// lookup asks the machine's resolver. It treats an IPv4-mapped IPv6 address as the IPv4 address.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found, err
}

// dial connects to an address that was checked.
func dial(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{KeepAlive: -1, ControlContext: func(_ context.Context, _, really string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(really); err != nil || at != a {
			return ErrForbidden
		}
		return nil
	}}
	return d.DialContext(ctx, "tcp", a.String())
}
