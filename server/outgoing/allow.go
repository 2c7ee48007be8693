package outgoing

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// allowed is an address inside that may be called: a name, or a range, at one port or all.
type allowed struct {
	name  string // "" for a range
	below bool   // names below name, and not itself
	addrs netip.Prefix
	port  string // "" for all
}

// parseAllowed reads a host name, *.name or an address, each with a port or without, or a range (CIDR).
func parseAllowed(text string) (allowed, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return allowed{addrs: netip.PrefixFrom(p.Addr().Unmap(), unmappedBits(p)).Masked()}, nil
	}
	host, port := text, ""
	if h, p, err := net.SplitHostPort(text); err == nil && (p != "" && strings.Trim(p, "0123456789") == "") {
		host, port = h, p
	}
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		a = a.Unmap().WithZone("")
		return allowed{addrs: netip.PrefixFrom(a, a.BitLen()), port: port}, nil
	}
	name, below := strings.CutPrefix(canonical(host), "*.")
	if name == "" || strings.ContainsAny(name, "/:*@?#[]% \t") {
		return allowed{}, fmt.Errorf("%q is neither a host nor an address range", text)
	}
	return allowed{name: name, below: below, port: port}, nil
}

// unmappedBits is the length of a prefix once its address is an IPv4 one.
func unmappedBits(p netip.Prefix) int {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return p.Bits() - 96
	}
	return p.Bits()
}

// names reports whether the rule is about a host by its name.
func (a allowed) names(host, port string) bool {
	if a.name == "" || a.port != "" && a.port != port {
		return false
	}
	host = canonical(host)
	if a.below {
		return strings.HasSuffix(host, "."+a.name)
	}
	return host == a.name
}

// holds reports whether the rule is about an address.
func (a allowed) holds(addr netip.Addr, port string) bool {
	return a.name == "" && (a.port == "" || a.port == port) && a.addrs.Contains(addr.Unmap().WithZone(""))
}

// canonical is a host name as names are compared.
func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }
