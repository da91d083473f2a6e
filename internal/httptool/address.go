package httptool

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// Private is what an operator allows tools to reach beside public addresses. The zero value allows nothing. It counts only for tools
// whose file says allow_private.
type Private struct{ entries []entry }

// entry allows a host by its name, or the addresses of a network.
type entry struct {
	host    string
	network netip.Prefix
	port    uint16 // 0: any
}

var hostName = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?)*\.?$`)

// ReadPrivate reads entries: a host name, an address or a network (10.0.0.0/8), the first two perhaps with a port.
func ReadPrivate(entries []string) (Private, error) {
	var p Private
	for _, text := range entries {
		e, ok := readEntry(strings.TrimSpace(text))
		if !ok {
			return Private{}, fmt.Errorf("%q names no host; write a name, an address or a network: localhost:9000, 10.1.2.3, 10.0.0.0/8, [::1]:9000", text)
		}
		p.entries = append(p.entries, e)
	}
	return p, nil
}

func readEntry(text string) (entry, bool) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return entry{network: network.Masked()}, true
	}
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		text = text[1 : len(text)-1]
	}
	if address, err := netip.ParseAddr(text); err == nil {
		return entry{network: only(address)}, address.Zone() == ""
	}
	host, port := text, uint64(0)
	if h, p, err := net.SplitHostPort(text); err == nil {
		if port, err = strconv.ParseUint(p, 10, 16); err != nil || port == 0 {
			return entry{}, false
		}
		host = h
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return entry{network: only(address), port: uint16(port)}, address.Zone() == ""
	}
	return entry{host: canonicalHost(host), port: uint16(port)}, hostName.MatchString(host) && !looksNumeric(host)
}

// looksNumeric: 127.1 and 0x7f000001 are addresses to some and names to others.
func looksNumeric(host string) bool {
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	_, err := strconv.ParseUint(strings.TrimSuffix(last, "."), 0, 64)
	return err == nil
}

func only(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func canonicalHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// holds says whether the operator allows an address that the host of a URL led to. The name of a host covers private networks and the
// machine itself, and nothing that only a network named as such can mean, as link-local addresses.
func (p Private) holds(host string, a netip.AddrPort) bool {
	address := a.Addr().WithZone("")
	for _, e := range p.entries {
		if e.port != 0 && e.port != a.Port() {
			continue
		}
		if e.covers(address) || e.host != "" && e.host == canonicalHost(host) && internal(address) {
			return true
		}
	}
	return false
}

// covers says whether the entry is of a network that opens an address. Those of clouds lie in networks that are opened for something
// else, so only an entry that is the address itself opens one.
func (e entry) covers(a netip.Addr) bool {
	return e.host == "" && e.network.Contains(a) && (e.network.IsSingleIP() || !within(clouds, a))
}

// mayHold says whether some entry could allow a URL's host, before it is known where it leads to.
func (p Private) mayHold(scheme, authority string) bool {
	host, port := splitAuthority(scheme, authority)
	address, err := netip.ParseAddr(host)
	for _, e := range p.entries {
		switch {
		case e.port != 0 && e.port != port:
		case err == nil && e.covers(address), e.host != "" && e.host == canonicalHost(host), err != nil && e.host == "":
			return true
		}
	}
	return false
}

func splitAuthority(scheme, authority string) (host string, port uint16) {
	if h, p, err := net.SplitHostPort(authority); err == nil {
		n, _ := strconv.ParseUint(p, 10, 16) // 0, which no entry has, if it is none
		return h, uint16(n)
	}
	port = 443
	if scheme == "http" {
		port = 80
	}
	return strings.Trim(authority, "[]"), port
}

// networks are prefixes that are written as text, all of them known to be right.
func networks(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

var (
	// ownNetworks are those inside an organisation or a machine.
	ownNetworks = networks("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1/128", "fc00::/7")

	// clouds are the addresses behind which clouds keep the credentials and the settings of a machine: those of AWS and of those who do
	// as AWS does, of its containers, of Google, Azure, Alibaba, Oracle and Scaleway. Some lie in networks that are private or even public.
	clouds = networks("169.254.169.254/32", "fd00:ec2::254/128", "169.254.170.2/32", "169.254.170.23/32", "fd00:ec2::23/128", "fd20:ce::254/128",
		"168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:42::42/128")

	// noHosts are all other IPv4 networks without public hosts: this network, link-local, protocols, documentation, benchmarks, relays,
	// multicast, reserved.
	noHosts = networks("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
		"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4")

	// publicIPv6 is all of IPv6 that is given out, and notPublicIPv6 what is special in it: protocols with Teredo, documentation, and
	// 6to4, which holds IPv4 addresses. NAT64, IPv4-mapped, link-local and multicast addresses are outside.
	publicIPv6    = netip.MustParsePrefix("2000::/3")
	notPublicIPv6 = networks("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)

// internal says whether an address is one inside an organisation or a machine.
func internal(a netip.Addr) bool { return within(ownNetworks, a) && !within(clouds, a) }

// public says whether everybody may be sent to an address.
func public(a netip.Addr) bool {
	if a.Is4() {
		return !within(ownNetworks, a) && !within(noHosts, a) && !within(clouds, a)
	}
	return a.Zone() == "" && publicIPv6.Contains(a) && !within(notPublicIPv6, a)
}

func within(networks []netip.Prefix, a netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(a) {
			return true
		}
	}
	return false
}
