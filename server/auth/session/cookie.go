package session

import (
	"net/http"
	"strings"
	"time"
)

// The cookie's names. Over TLS it can't be set by another host, nor for a part of the site.
const (
	plainName  = "parley_session"
	secureName = "__Host-parley_session"
)

// Secure reports whether the browser came over TLS, to us or to the proxy before us.
func Secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// Value is the value of a request's cookie; "" for none.
func Value(r *http.Request) string {
	name := plainName
	if Secure(r) {
		name = secureName
	}
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// Set has the browser keep the session until its end; no script can read it, and no other site send it.
func Set(w http.ResponseWriter, r *http.Request, value string, end time.Time) {
	set(w, r, value, end, 0)
}

// Clear has the browser forget the session.
func Clear(w http.ResponseWriter, r *http.Request) { set(w, r, "", time.Unix(1, 0), -1) }

func set(w http.ResponseWriter, r *http.Request, value string, end time.Time, maxAge int) {
	c := &http.Cookie{
		Name: plainName, Value: value, Path: "/", Expires: end, MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if Secure(r) {
		c.Name, c.Secure = secureName, true
	}
	http.SetCookie(w, c)
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
