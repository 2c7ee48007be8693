package cli

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// checkAddress refuses what is no address of a server, and says what to write in its place.
func checkAddress(base string) error {
	u, err := url.Parse(base)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	host := base
	if _, after, ok := strings.Cut(base, "://"); ok {
		host = after
	}
	return &ExitError{2, fmt.Errorf("%q is no address of a server (--base-url, PARLEY_BASE_URL): write http://%s", base, or(host, "127.0.0.1:2024"))}
}

// elsewhere says how to name another address.
const elsewhere = "if Parley listens elsewhere (it prints where when it starts), give that address by --base-url or PARLEY_BASE_URL"

// nobody is the failure to reach a server.
func (c *client) nobody(err error) *APIError {
	var u *url.Error
	if errors.As(err, &u) { // its address stands in the text
		err = u.Err
	}
	return &APIError{Detail: fmt.Sprintf("no server answers at %s: %v", c.BaseURL, err), Fields: []string{elsewhere}}
}

// somebodyElse is the failure to understand what answers.
func (c *client) somebodyElse() *APIError {
	return &APIError{Detail: fmt.Sprintf("what answers at %s is no Parley server", c.BaseURL), Fields: []string{elsewhere}}
}
