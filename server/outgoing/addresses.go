package outgoing

import "net/netip"

// notPublic are the ranges of IPv4, and of IPv6 within 2000::/3, that aren't addresses of hosts on the internet, or
// that stand for others: private, shared, link-local (with the metadata services of clouds), loopback, reserved,
// documentation, multicast, 6to4, Teredo. 168.63.129.16 is the metadata service of a cloud that has it outside all of them.
var notPublic = ranges(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

var (
	publicV6 = netip.MustParsePrefix("2000::/3")
	nat64    = netip.MustParsePrefix("64:ff9b::/96") // its last four bytes are an IPv4 address
)

// Inside reports whether an address isn't one of a host on the internet.
func Inside(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if !a.IsValid() || a.Is6() && !publicV6.Contains(a) {
		return true
	}
	for _, r := range notPublic {
		if r.Contains(a) {
			return true
		}
	}
	return false
}

func ranges(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, text := range list {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}
