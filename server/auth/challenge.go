package auth

import "net/http"

// Challenge is the header of a 401: how to say who one is. Code is one of RFC 6750, or "".
func Challenge(code string) http.Header {
	value := `Bearer realm="parley"`
	if code != "" {
		value += `, error="` + code + `"`
	}
	return http.Header{"Www-Authenticate": {value}}
}
