package server

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CORS says which web pages may call the server (spec/rest-api.md 1.9).
type CORS struct {
	// AllowOrigins are origins, or "*" for every one. Default: "*", unless AllowOriginRegex is set.
	AllowOrigins []string
	// AllowOriginRegex allows origins that match as a whole.
	AllowOriginRegex string
	// AllowMethods default: GET, HEAD, PUT, POST, DELETE, PATCH.
	AllowMethods []string
	// AllowHeaders default: whatever the browser asks for.
	AllowHeaders []string
	// AllowCredentials lets pages send cookies; refused together with every origin (D-71).
	AllowCredentials bool
	// ExposeHeaders are added to those that clients of this API read.
	ExposeHeaders []string
	// MaxAge is how long browsers keep a preflight's answer. Default: 2 h.
	MaxAge time.Duration
}

// exposed are the headers that clients of this API read (D-70).
var exposed = []string{"content-location", "location", "x-pagination-total", "x-pagination-next", "x-parley-replay", "x-session-id"}

// requested are the headers that clients of this API send.
var requested = []string{"content-type", "x-api-key", "authorization", "last-event-id", "prefer", "x-auth-scheme", "idempotency-key", "x-session-id"}

// cors answers preflights and marks replies.
type cors struct {
	any         bool
	origins     []string
	pattern     *regexp.Regexp
	methods     string
	headers     string // "" reflects what is asked for
	expose      string
	maxAge      string
	credentials bool
}

// newCORS checks the configuration.
func newCORS(c CORS) (*cors, error) {
	p := &cors{
		methods: "GET,HEAD,PUT,POST,DELETE,PATCH", headers: strings.Join(c.AllowHeaders, ","),
		maxAge: "7200", credentials: c.AllowCredentials,
	}
	if len(c.AllowOrigins) == 0 && c.AllowOriginRegex == "" {
		c.AllowOrigins = []string{"*"}
	}
	p.any = slices.Contains(c.AllowOrigins, "*")
	p.origins = c.AllowOrigins
	if c.AllowOriginRegex != "" {
		re, err := regexp.Compile("^(?:" + c.AllowOriginRegex + ")$")
		if err != nil {
			return nil, fmt.Errorf("server: CORS.AllowOriginRegex: %w", err)
		}
		p.pattern = re
	}
	if p.any && c.AllowCredentials {
		return nil, errors.New("server: CORS can't allow credentials to every origin: name the origins")
	}
	if len(c.AllowMethods) > 0 {
		p.methods = strings.Join(c.AllowMethods, ",")
	}
	if c.MaxAge != 0 {
		p.maxAge = strconv.Itoa(int(c.MaxAge.Seconds()))
	}
	expose := slices.Clone(exposed)
	for _, h := range c.ExposeHeaders {
		if h = strings.ToLower(h); !slices.Contains(expose, h) {
			expose = append(expose, h)
		}
	}
	p.expose = strings.Join(expose, ",")
	return p, nil
}

// allows reports whether pages of an origin may call.
func (p *cors) allows(origin string) bool {
	return p.any || slices.Contains(p.origins, origin) || p.pattern != nil && p.pattern.MatchString(origin)
}

// allowsSocket reports whether a WebSocket may be opened: by a page of the
// server's own host or of an allowed origin, and by what is no page.
func (p *cors) allowsSocket(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin == "" || sameHost(origin, r.Host) || p.allows(origin)
}

func sameHost(origin, host string) bool {
	_, originHost, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(originHost, host)
}

// withoutCookies takes the cookies off a socket's request from a foreign page
// which may not send any: unlike other requests, browsers always send them here.
func (p *cors) withoutCookies(r *http.Request) {
	origin := r.Header.Get("Origin")
	if origin != "" && !p.credentials && !sameHost(origin, r.Host) && r.Header.Get("Upgrade") != "" {
		r.Header.Del("Cookie")
	}
}

// wrap marks all replies of next, also failures, and answers preflights before auth is asked.
func (p *cors) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		origin := r.Header.Get("Origin")
		switch {
		case p.any:
			h.Set("Access-Control-Allow-Origin", "*")
		default:
			h.Add("Vary", "Origin")
			if origin != "" && p.allows(origin) {
				h.Set("Access-Control-Allow-Origin", origin)
				if p.credentials {
					h.Set("Access-Control-Allow-Credentials", "true")
				}
			}
		}
		h.Set("Access-Control-Expose-Headers", p.expose)
		if r.Method != http.MethodOptions {
			p.withoutCookies(r)
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", p.methods)
		switch asked := r.Header.Get("Access-Control-Request-Headers"); {
		case p.headers != "":
			h.Set("Access-Control-Allow-Headers", p.headers)
		case asked != "":
			h.Set("Access-Control-Allow-Headers", asked)
			h.Add("Vary", "Access-Control-Request-Headers")
		default:
			h.Set("Access-Control-Allow-Headers", strings.Join(requested, ","))
		}
		h.Set("Access-Control-Max-Age", p.maxAge)
		w.WriteHeader(http.StatusNoContent)
	})
}
