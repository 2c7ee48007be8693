package model

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Key says where an API key is found. The key itself is read for each call, so
// that a file may be replaced, and is kept nowhere. The zero Key is no key.
type Key struct {
	// Env is the name of an environment variable, File the path of a file with
	// nothing else in it but white space. File goes first.
	Env  string
	File string
	// Getenv reads the environment; nil stands for os.Getenv.
	Getenv func(string) string
}

// EnvKey is a key in an environment variable.
func EnvKey(name string) Key { return Key{Env: name} }

// FileKey is a key in a file.
func FileKey(path string) Key { return Key{File: path} }

// IsZero reports that there is no key to look for.
func (k Key) IsZero() bool { return k.Env == "" && k.File == "" }

// String says where the key is, never what it is.
func (k Key) String() string {
	switch {
	case k.File != "":
		return "file " + k.File
	case k.Env != "":
		return "environment variable " + k.Env
	}
	return "no key"
}

// MarshalText says where the key is, as String does.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Read returns the key; "" for the zero Key. Errors: ErrNoKey when it is missing
// or isn't one line of printable ASCII, which no header could carry.
func (k Key) Read() (string, error) {
	if k.IsZero() {
		return "", nil
	}
	var raw string
	if k.File != "" {
		b, err := os.ReadFile(k.File)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrNoKey, err)
		}
		raw = string(b)
	} else {
		getenv := k.Getenv
		if getenv == nil {
			getenv = os.Getenv
		}
		raw = getenv(k.Env)
	}
	key := strings.TrimSpace(raw)
	if key == "" {
		return "", fmt.Errorf("%w: %s is empty", ErrNoKey, k)
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%w: %s holds more than a key: it has blanks or characters outside of ASCII", ErrNoKey, k)
	}
	return key, nil
}

// Headers are HTTP headers whose values don't show when they are printed, since
// they may be secrets.
type Headers map[string]string

// String names the headers.
func (h Headers) String() string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}

// GoString names the headers.
func (h Headers) GoString() string { return h.String() }

// MarshalText names the headers.
func (h Headers) MarshalText() ([]byte, error) { return []byte(h.String()), nil }
