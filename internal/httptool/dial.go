package httptool

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// errForbidden: the host leads to no address that this tool may reach.
var errForbidden = errors.New("it leads to an address in a private or special network, and this tool may only call public ones")

// mostAddresses bounds how many addresses of one host are tried.
const mostAddresses = 4

// door says which addresses the requests of a tool may reach.
type door struct{ private Private }

func (d door) open(host string, a netip.AddrPort) bool {
	return public(a.Addr()) || d.private.holds(host, a)
}

type doorKey struct{}

// through gives the connections of a request their door.
func through(ctx context.Context, d door) context.Context {
	return context.WithValue(ctx, doorKey{}, d)
}

// dial is where every connection begins, that of a redirect as well. It looks the name up once and connects to the very addresses
// it has looked at, so that a name that means something else a moment later changes nothing.
func (c *Caller) dial(ctx context.Context, _, authority string) (net.Conn, error) {
	d, _ := ctx.Value(doorKey{}).(door) // without one, public addresses alone
	host, port := splitAuthority("", authority)
	addresses, err := c.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	var allowed []netip.AddrPort
	for _, a := range addresses {
		if at := netip.AddrPortFrom(a, port); d.open(host, at) && len(allowed) < mostAddresses {
			allowed = append(allowed, at)
		}
	}
	if len(allowed) == 0 {
		return nil, errForbidden
	}
	return c.dialOne(ctx, allowed)
}

func (c *Caller) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	found, err := c.o.Lookup(ctx, host)
	if err == nil && len(found) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return found, err
}

// oneAddress is how long one of several addresses may take before the next is tried.
const oneAddress = 3 * time.Second

// dialOne takes the first address that answers.
func (c *Caller) dialOne(ctx context.Context, addresses []netip.AddrPort) (conn net.Conn, err error) {
	for i, a := range addresses {
		conn, err = c.dialFor(ctx, a, i == len(addresses)-1)
		if err == nil || ctx.Err() != nil {
			return conn, err
		}
	}
	return nil, err
}

func (c *Caller) dialFor(ctx context.Context, a netip.AddrPort, last bool) (net.Conn, error) {
	if last {
		return c.o.Dial(ctx, a)
	}
	ctx, stop := limited(ctx, c.o.Clock, oneAddress)
	defer stop()
	return c.o.Dial(ctx, a)
}

// errSlow is the cause of a context whose time was over.
var errSlow = errors.New("no time is left")

// limited is ctx with an end, by the clock that was brought.
func limited(ctx context.Context, clock engine.Clock, d time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := clock.AfterFunc(d, func() { cancel(errSlow) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// lookup asks the machine's resolver. An IPv4 address in the clothes of IPv6 is taken for what it is.
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
			return errForbidden
		}
		return nil
	}}
	return d.DialContext(ctx, "tcp", a.String())
}
