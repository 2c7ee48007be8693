package session

import (
	"net/http"
	"strings"
	"time"
)

// Cookie is a cookie of the server's by its name. Over TLS it can't be set by another host, nor for a part of the site,
// and has another name, which says so to browsers. No script can read it.
type Cookie struct {
	name string
	site http.SameSite
}

const securePrefix = "__Host-"

// own is the session's; no other site can have it sent.
var own = Cookie{"parley_session", http.SameSiteStrictMode}

// Kept is a cookie that only pages of this server have sent.
func Kept(name string) Cookie { return Cookie{name, http.SameSiteStrictMode} }

// Returning is a cookie that comes along, too, when another site sends the browser back here.
func Returning(name string) Cookie { return Cookie{name, http.SameSiteLaxMode} }

// Secure reports whether the browser came over TLS, to us or to the proxy before us.
func Secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// Value is the value of a request's session; "" for none.
func Value(r *http.Request) string { return own.Value(r) }

// Set has the browser keep the session until its end; no script can read it, and no other site send it.
func Set(w http.ResponseWriter, r *http.Request, value string, end time.Time) {
	own.Set(w, r, value, end)
}

// Clear has the browser forget the session.
func Clear(w http.ResponseWriter, r *http.Request) { own.Clear(w, r) }

// nameFor is the cookie's name on the way that a request came.
func (c Cookie) nameFor(r *http.Request) string {
	if Secure(r) {
		return securePrefix + c.name
	}
	return c.name
}

// Value is the cookie's value in a request; "" for none.
func (c Cookie) Value(r *http.Request) string {
	got, err := r.Cookie(c.nameFor(r))
	if err != nil {
		return ""
	}
	return got.Value
}

// Set has the browser keep the cookie until its end.
func (c Cookie) Set(w http.ResponseWriter, r *http.Request, value string, end time.Time) {
	c.set(w, r, value, end, 0)
}

// Clear has the browser forget the cookie.
func (c Cookie) Clear(w http.ResponseWriter, r *http.Request) { c.set(w, r, "", time.Unix(1, 0), -1) }

func (c Cookie) set(w http.ResponseWriter, r *http.Request, value string, end time.Time, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: c.nameFor(r), Value: value, Path: "/", Expires: end, MaxAge: maxAge, HttpOnly: true, SameSite: c.site, Secure: Secure(r),
	})
}

// Named lists the cookies of a request whose names begin so.
func Named(r *http.Request, prefix string) []string {
	var list []string
	for _, c := range r.Cookies() {
		name := c.Name
		if Secure(r) {
			var ok bool
			if name, ok = strings.CutPrefix(name, securePrefix); !ok {
				continue
			}
		}
		if strings.HasPrefix(name, prefix) {
			list = append(list, name)
		}
	}
	return list
}

// SameOrigin reports whether a request comes from a page of this server, as far as the
// browser says; known is false when it says nothing, as programs do.
func SameOrigin(r *http.Request) (same, known bool) {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin", true
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		scheme, host, ok := strings.Cut(origin, "://")
		wanted := "http"
		if Secure(r) {
			wanted = "https"
		}
		return ok && strings.EqualFold(scheme, wanted) && strings.EqualFold(host, r.Host), true
	}
	return false, false
}

// MayUse reports whether a request may be made by its cookie alone: one that changes
// something, or opens a socket, only from a page of this server that says so; one that
// reads not from a page of another (SameSite keeps the cookie from other sites, but not from
// other ports and names of the same).
func MayUse(r *http.Request) bool {
	same, known := SameOrigin(r)
	if same {
		return true
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return r.Header.Get("Upgrade") == "" && (!known || r.Header.Get("Sec-Fetch-Site") == "none")
	}
	return false
}
