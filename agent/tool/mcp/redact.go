package mcp

import (
	"net/url"
	"strings"
)

// shortest is the length from which a value counts as a secret: shorter ones
// ("1", "true", "info") would blacken half of a text.
const shortest = 8

// redactor hides what the configuration holds of secrets in texts that leave
// for a log or an error.
type redactor struct{ replace *strings.Replacer }

func newRedactor(c ServerConfig) redactor {
	var pairs []string
	add := func(secret string) {
		if len(secret) >= shortest {
			pairs = append(pairs, secret, "***")
		}
	}
	both := func(secret string) {
		add(secret)
		add(url.QueryEscape(secret))
	}
	for _, v := range c.Env {
		both(v)
	}
	for _, v := range c.Headers {
		both(v)
		if _, token, ok := strings.Cut(v, " "); ok { // "Bearer …"
			both(token)
		}
	}
	if u, err := url.Parse(c.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			both(password)
		}
		for _, values := range u.Query() {
			for _, v := range values {
				both(v)
			}
		}
	}
	return redactor{strings.NewReplacer(pairs...)}
}

func (r redactor) text(s string) string { return r.replace.Replace(s) }

// redactedError is an error whose text is free of secrets.
type redactedError struct {
	error
	text string
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.error }

// err returns the error with a text that is free of secrets.
func (r redactor) err(err error) error {
	if err == nil {
		return nil
	}
	if text := r.text(err.Error()); text != err.Error() {
		return &redactedError{err, text}
	}
	return err
}
