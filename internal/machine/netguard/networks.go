package netguard

import "net/netip"

// networks parses valid prefixes.
func networks(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

var (
	// ownNetworks are the networks inside an organisation or a machine.
	ownNetworks = networks("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1/128", "fc00::/7")

	// metadata are the addresses at which clouds serve the credentials and settings of a
	// machine or a container: AWS and those that follow it, Google, Azure, Alibaba, Oracle,
	// Tencent, OpenStack and Scaleway. Some lie in networks that are private or even public.
	metadata = networks("169.254.169.254/32", "fd00:ec2::254/128", "169.254.170.2/32", "169.254.170.23/32", "fd00:ec2::23/128", "fd20:ce::254/128",
		"168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:c1::a9fe:a9fe/128", "169.254.0.23/32", "fe80::a9fe:a9fe/128",
		"169.254.42.42/32", "fd00:42::42/128")

	// noHosts are all other IPv4 networks without public hosts: this network, link-local,
	// protocols, documentation, benchmarks, relays, AS112, multicast, reserved.
	noHosts = networks("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
		"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4")

	// publicIPv6 is all of IPv6 that is given out, and notPublicIPv6 what is special in it:
	// protocols with Teredo, documentation, 6to4, which holds IPv4 addresses, and AS112. NAT64,
	// IPv4-mapped, link-local and multicast addresses are outside.
	publicIPv6    = netip.MustParsePrefix("2000::/3")
	notPublicIPv6 = networks("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "2620:4f:8000::/48")
)

// internal reports whether an address is inside an organisation or a machine.
func internal(a netip.Addr) bool { return within(ownNetworks, a) && !Metadata(a) }

// Metadata reports whether an address is a cloud's metadata service or another link-local address.
// An IPv4-mapped IPv6 address counts as the IPv4 address.
func Metadata(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return within(metadata, a) || a.IsLinkLocalUnicast()
}

// Public reports whether any agent may connect to an address.
func Public(a netip.Addr) bool {
	if a.Is4() {
		return !within(ownNetworks, a) && !within(noHosts, a) && !within(metadata, a)
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
