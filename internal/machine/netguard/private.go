package netguard

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// Private lists what an operator allows agents to reach beside public addresses. The zero value
// allows nothing.
type Private struct{ entries []entry }

// entry allows a host by its name, or the addresses of a network.
type entry struct {
	host    string
	network netip.Prefix
	port    uint16 // 0: any
}

var hostName = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?)*\.?$`)

// ReadPrivate reads entries: a host name, an address or a network (10.0.0.0/8), the first two
// perhaps with a port.
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
	return entry{host: CanonicalHost(host), port: uint16(port)}, hostName.MatchString(host) && !looksNumeric(host)
}

// looksNumeric: 127.1 and 0x7f000001 are addresses to some and names to others.
func looksNumeric(host string) bool {
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	_, err := strconv.ParseUint(strings.TrimSuffix(last, "."), 0, 64)
	return err == nil
}

func only(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// CanonicalHost is a host name in lower case, without the dot at its end.
func CanonicalHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// holds says whether the operator allows an address that the host of a URL led to. The name of a
// host covers private networks and the machine itself, and nothing that only a network named as
// such can mean, as link-local addresses.
func (p Private) holds(host string, a netip.AddrPort) bool {
	address := a.Addr().WithZone("")
	for _, e := range p.entries {
		if e.port != 0 && e.port != a.Port() {
			continue
		}
		if e.covers(address) || e.host != "" && e.host == CanonicalHost(host) && internal(address) {
			return true
		}
	}
	return false
}

// covers says whether the entry is of a network that opens an address. Those of clouds lie in
// networks that are opened for something else, so only an entry that is the address itself opens
// one.
func (e entry) covers(a netip.Addr) bool {
	return e.host == "" && e.network.Contains(a) && (e.network.IsSingleIP() || !within(metadata, a))
}

// MayHold reports whether some entry could allow a URL's host, before it is known where it leads
// to.
func (p Private) MayHold(scheme, authority string) bool {
	host, port := SplitAuthority(scheme, authority)
	address, err := netip.ParseAddr(host)
	for _, e := range p.entries {
		switch {
		case e.port != 0 && e.port != port:
		case err == nil && e.covers(address), e.host != "" && e.host == CanonicalHost(host), err != nil && e.host == "":
			return true
		}
	}
	return false
}

// Inside reports whether the authority of a URL can only lead to an address that is not public: it
// is this machine by name, or such an address itself. Other names need a lookup.
func Inside(authority string) bool {
	host, _ := SplitAuthority("", authority)
	host = CanonicalHost(host)
	if address, err := netip.ParseAddr(host); err == nil {
		return !Public(address)
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// SplitAuthority returns the host and the port of the authority of a URL; the port of the scheme if
// it names none.
func SplitAuthority(scheme, authority string) (host string, port uint16) {
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
