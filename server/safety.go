package server

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// apiPolicy is for replies that are no pages: should a browser show one all the same, nothing in it acts.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

// pagePolicy is for our own pages: scripts of this server only, in no frame of others.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded marks replies of the built-in routes so that browsers take them for nothing but what they are.
func guarded(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set(echo.HeaderXContentTypeOptions, "nosniff")
		h.Set(echo.HeaderReferrerPolicy, "no-referrer") // paths hold ids
		h.Set(echo.HeaderContentSecurityPolicy, apiPolicy)
		return next(c)
	}
}

// asPage gives a reply the rules of our own pages.
func asPage(h http.Header) { h.Set(echo.HeaderContentSecurityPolicy, pagePolicy) }
