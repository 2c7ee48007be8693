package server

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// isLoopback reports whether a host can only be this machine: localhost, a name below it, or a loopback address.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// hostOnly is the host of a Host header, without its port.
func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// forwardedHere reports whether all that proxies say of a request's way is on this machine.
func forwardedHere(h http.Header) bool {
	if len(h.Values("Forwarded")) > 0 {
		return false // none of the proxies we know sends it; it can't be told
	}
	for _, name := range []string{"X-Forwarded-For", "X-Real-Ip"} {
		for _, value := range h.Values(name) {
			for _, address := range strings.Split(value, ",") {
				if !isLoopback(hostOnly(strings.TrimSpace(address))) {
					return false
				}
			}
		}
	}
	return true
}

// localOrigin reports whether a page is one of this machine's, or of an origin that is allowed by name.
func (p *cors) localOrigin(origin string) bool {
	if slices.Contains(p.origins, origin) && origin != "*" || p.pattern != nil && p.pattern.MatchString(origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && isLoopback(u.Hostname())
}

// reachesOut reports whether others than this machine can reach a listener.
func reachesOut(addr net.Addr) bool {
	a, ok := addr.(*net.TCPAddr)
	return ok && !a.IP.IsLoopback()
}
