package oidc

import (
	"net/url"
	"path"
	"strings"
)

// home is where people go on who say no place of their own.
const home = "/"

// longestBack bounds an address to go back to, in bytes: it has to fit into a cookie.
const longestBack = 1024

// Back is the address of a page of the web app, as it was asked for, or the app's beginning: nobody is ever
// sent to another server, nor to anything that acts.
func Back(address string) string {
	if len(address) > longestBack || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") {
		return home
	}
	for _, r := range address { // browsers read \ as / and leave control characters out
		if r == '\\' || r < ' ' || r == 0x7f {
			return home
		}
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil {
		return home
	}
	switch at := path.Clean(u.Path); {
	case strings.Contains(at, "\\"):
		return home
	case at == home, at == "/app", strings.HasPrefix(at, "/app/"), at == "/reviews", strings.HasPrefix(at, "/reviews/"):
		return (&url.URL{Path: at, RawQuery: u.RawQuery, Fragment: u.Fragment, RawFragment: u.RawFragment}).String()
	}
	return home
}

// With is an address of Back's with one more word in its query.
func With(address, key, value string) string {
	u, err := url.Parse(address)
	if err != nil { // Back has made it
		return home
	}
	q := u.Query()
	q.Set(key, value)
	u.RawQuery = q.Encode()
	return u.String()
}
