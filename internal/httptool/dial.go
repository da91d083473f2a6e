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

// forbiddenError: the host leads to no address that this request may reach. It says why.
type forbiddenError string

func (f forbiddenError) Error() string { return string(f) }

const (
	errForbidden forbiddenError = "it leads to an address in a private or special network, and this tool may only call public ones"
	errClear     forbiddenError = "it leads to no private address that the operator allows, and a secret would go over the network in the clear"
)

// mostAddresses bounds how many addresses of one host are tried.
const mostAddresses = 4

// door says which addresses a request may reach.
type door struct {
	private Private
	clear   bool            // it holds a secret that nothing would hide: public addresses are shut
	request context.Context // its end is that of the connection, whether it is there by then or not
}

func (d door) open(host string, a netip.AddrPort) bool {
	return !d.clear && public(a.Addr()) || d.private.holds(host, a)
}

// shut is why nothing is open.
func (d door) shut() error {
	if d.clear {
		return errClear
	}
	return errForbidden
}

type doorKey struct{}

// through gives the connection of a request its door.
func through(ctx context.Context, d door) context.Context {
	return context.WithValue(ctx, doorKey{}, d)
}

// dial is where every connection begins, that of a redirect as well. It looks the name up once and connects to the very addresses
// it has looked at, so that a name that means something else a moment later changes nothing.
//
// [http.Transport] lets a connection that nobody waits for any more be made to its end, for whoever comes next. Nobody does here, and
// a host that takes connections and says nothing would keep each of them for ever: so what counts is the end of the request.
func (c *Caller) dial(ctx context.Context, _, authority string) (net.Conn, error) {
	d, ok := ctx.Value(doorKey{}).(door) // without one, public addresses alone
	if ok {
		ctx = d.request
	}
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
		return nil, d.shut()
	}
	conn, err := c.dialOne(ctx, allowed)
	if err == nil {
		context.AfterFunc(ctx, func() { _ = conn.Close() })
	}
	return conn, err
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
