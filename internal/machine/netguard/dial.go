package netguard

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// RefusedError reports that a host leads to no address that a request may reach. Its text says why.
type RefusedError string

func (r RefusedError) Error() string { return string(r) }

// Why a connection is refused.
const (
	ErrForbidden RefusedError = "it leads to an address in a private or special network, and this tool may only call public ones"
	ErrClear     RefusedError = "it leads to no private address that the operator allows, and a secret would go over the network in the clear"
)

// mostAddresses bounds how many addresses of one host are tried.
const mostAddresses = 4

// Door says which addresses one request may reach. The zero value opens public ones.
type Door struct {
	Private bool // those that the operator allows, too
	Clear   bool // the request carries a secret unencrypted: public addresses are shut
}

type doorKey struct{}

// opened is a door with the request that it was opened for. The connection ends with the request,
// whether it is made by then or not.
type opened struct {
	Door
	request context.Context
}

// Through opens a door for the connections of the request that ctx belongs to.
func Through(ctx context.Context, d Door) context.Context {
	return context.WithValue(ctx, doorKey{}, opened{d, ctx})
}

func (g *Guard) open(d Door, host string, a netip.AddrPort) bool {
	return !d.Clear && Public(a.Addr()) || d.Private && g.o.Private.holds(host, a)
}

// shut is why no address is open.
func (d Door) shut() error {
	if d.Clear {
		return ErrClear
	}
	return ErrForbidden
}

// dial is where every connection begins, that of a redirect as well. It looks the name up once and
// connects to the very addresses it has looked at, so that a name that means something else a
// moment later changes nothing.
//
// [http.Transport] finishes a connection even after its request has ended, so that a later request
// can use it. A guard keeps no connections, and a host that accepts them and says nothing would
// hold each one forever: so a connection ends with its request.
func (g *Guard) dial(ctx context.Context, _, authority string) (net.Conn, error) {
	d := ctx.Value(doorKey{}).(opened)
	ctx = d.request
	host, port := SplitAuthority("", authority)
	addresses, err := g.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	var allowed []netip.AddrPort
	for _, a := range addresses {
		if at := netip.AddrPortFrom(a, port); g.open(d.Door, host, at) && len(allowed) < mostAddresses {
			allowed = append(allowed, at)
		}
	}
	if len(allowed) == 0 {
		return nil, d.shut()
	}
	conn, err := g.dialOne(ctx, allowed)
	if err == nil {
		context.AfterFunc(ctx, func() { _ = conn.Close() })
	}
	return conn, err
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

// oneAddress is how long one of several addresses may take before the next is tried.
const oneAddress = 3 * time.Second

// dialOne takes the first address that answers.
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

// lookup asks the machine's resolver. An IPv4 address inside an IPv6 one is taken for what it is.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found, err
}

// dial connects to an address that was looked at, and to no other.
func dial(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{KeepAlive: -1, ControlContext: func(_ context.Context, _, really string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(really); err != nil || at != a {
			return ErrForbidden
		}
		return nil
	}}
	return d.DialContext(ctx, "tcp", a.String())
}
