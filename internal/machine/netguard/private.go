package netguard

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// Private lists the addresses that an operator allows agents to reach besides public ones. The zero
// value allows none.
type Private struct{ entries []entry }

// entry allows a host by its name, or the addresses of a network.
type entry struct {
	host    string
	network netip.Prefix
	port    uint16 // 0 means any port
}

var hostName = lazyregexp.New(`^[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?)*\.?$`)

// ReadPrivate parses entries: host names and addresses, optionally with a port, and networks
// (10.0.0.0/8).
func ReadPrivate(entries []string) (Private, error) {
	var p Private
	for _, text := range entries {
		e, ok := readEntry(strings.TrimSpace(text))
		if !ok {
			return Private{}, fmt.Errorf("%q is not a host; use a name, an address or a network, such as localhost:9000, 10.1.2.3, 10.0.0.0/8 or [::1]:9000", text)
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

// looksNumeric matches names such as 127.1 and 0x7f000001, which some resolvers treat as addresses.
func looksNumeric(host string) bool {
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	_, err := strconv.ParseUint(strings.TrimSuffix(last, "."), 0, 64)
	return err == nil
}

func only(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// CanonicalHost returns a host name in lower case, without a final dot.
func CanonicalHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// holds reports whether the operator allows an address that the host of a URL resolved to. An entry
// with a host name covers private networks and the machine itself, but no addresses that need an
// explicit network, such as link-local ones.
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

// covers reports whether the entry is a network that allows an address. Metadata services lie in
// networks that are allowed for other reasons, so only an entry with the exact address allows one.
func (e entry) covers(a netip.Addr) bool {
	return e.host == "" && e.network.Contains(a) && (e.network.IsSingleIP() || !within(metadata, a))
}

// MayHold reports whether some entry could allow a URL's host, before its address is known.
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

// Inside reports whether the authority of a URL can only lead to an address that is not public,
// because it is this machine's name or such an address. Other names need a lookup.
func Inside(authority string) bool {
	host, _ := SplitAuthority("", authority)
	host = CanonicalHost(host)
	if address, err := netip.ParseAddr(host); err == nil {
		return !Public(address)
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Numeric reports whether the host of an authority is a number in an unusual form, such as 127.1
// and 0x7f000001, which some resolvers treat as an address.
func Numeric(authority string) bool {
	host, _ := SplitAuthority("", authority)
	host = CanonicalHost(host)
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	_, err := strconv.ParseUint(host[strings.LastIndexByte(host, '.')+1:], 0, 64)
	return err == nil
}

// SplitAuthority returns the host and the port of the authority of a URL, by default the port of
// the scheme.
func SplitAuthority(scheme, authority string) (host string, port uint16) {
	if h, p, err := net.SplitHostPort(authority); err == nil {
		n, _ := strconv.ParseUint(p, 10, 16) // 0 if invalid; no entry has it
		return h, uint16(n)
	}
	port = 443
	if scheme == "http" {
		port = 80
	}
	return strings.Trim(authority, "[]"), port
}
