package local

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// names are a resolver and a network beyond which nothing is reached. A name that the tests did not
// give is resolved by the machine.
type names struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr // by name; the last answer is repeated
}

// public is an address that the guard takes for public. No connection to it is made.
var public = netip.MustParseAddr("93.184.215.14")

func (n *names) set(host string, answers ...[]netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers = map[string][][]netip.Addr{host: answers}
}

func (n *names) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answers, ours := n.answers[host]
	if !ours {
		return net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	}
	if len(answers) > 1 {
		n.answers[host] = answers[1:]
	}
	return answers[0], nil
}

func (n *names) dial(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
	if !a.Addr().IsLoopback() {
		return nil, errors.New("no route to host")
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", a.String())
}

var here = netip.MustParseAddr("127.0.0.1")

// rebound tests a webhook to a name that has a public address when it is looked up first, and is
// this machine from then on.
func (x *scene) rebound(url string) string {
	x.names.set("rebind.example.com", []netip.Addr{public}, []netip.Addr{here})
	return x.tests(strings.Replace(url, "http://127.0.0.1", "https://rebind.example.com", 1))
}

// alsoPublic tests a webhook to a name that is a public address and this machine.
func (x *scene) alsoPublic(url string) string {
	x.names.set("both.example.com", []netip.Addr{public, here})
	return x.tests(strings.Replace(url, "http://127.0.0.1", "https://both.example.com", 1))
}
