package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/MicahParks/jwkset" // reads JSON Web Keys of all kinds and checks them
	"golang.org/x/sync/singleflight"
)

// keySet is the keys that an issuer publishes. They are read when the first token
// comes, again when they are old, and when a token names one that isn't there; but never
// more often than Options.Retry, so that forged tokens can't make us hammer the issuer.
type keySet struct {
	o       Options
	reading singleflight.Group

	mu    sync.Mutex
	keys  map[string]published
	read  time.Time // that keys are of
	tried time.Time
	err   error // of the last attempt
}

// published is one key.
type published struct {
	key any
	alg string // that it is for; "" for any that fits it
}

// longestSet bounds what is read.
const longestSet = 1 << 20

// errUnavailable: the issuer's keys can't be read.
var errUnavailable = errors.New("token: the issuer's keys can't be read")

// key finds a key by its id; "" is the only one there is.
func (s *keySet) key(ctx context.Context, kid string) (published, error) {
	if k, ok, fresh := s.known(kid); ok && fresh {
		return k, nil
	}
	if s.mayRead() {
		// Not the caller's context: others wait for it, too.
		_, _, _ = s.reading.Do("", func() (any, error) { s.refresh(context.WithoutCancel(ctx)); return nil, nil })
	}
	k, ok, _ := s.known(kid)
	switch {
	case ok: // old ones count on while the issuer is away
		return k, nil
	case s.failure() != nil:
		return k, fmt.Errorf("%w: %w", errUnavailable, s.failure())
	}
	return k, errUnknownKey
}

// errUnknownKey: the token names a key that the issuer doesn't publish.
var errUnknownKey = errors.New("token: unknown key")

func (s *keySet) known(kid string) (k published, ok, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh = !s.read.IsZero() && s.o.Now().Sub(s.read) < s.o.Refresh
	if kid == "" && len(s.keys) == 1 {
		for _, k := range s.keys {
			return k, true, fresh
		}
	}
	k, ok = s.keys[kid]
	return k, ok && kid != "", fresh
}

// mayRead reports whether another attempt is due.
func (s *keySet) mayRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried.IsZero() || s.o.Now().Sub(s.tried) >= s.o.Retry
}

func (s *keySet) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *keySet) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*readTime)
	defer cancel()
	keys, err := s.load(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried, s.err = s.o.Now(), err
	if err == nil {
		s.keys, s.read = keys, s.tried
	}
}

// load reads the keys from where the options say.
func (s *keySet) load(ctx context.Context) (map[string]published, error) {
	where := s.o.JWKS
	if where == "" {
		var err error
		if where, err = s.discover(ctx); err != nil {
			return nil, err
		}
	}
	if !isURL(where) {
		b, err := os.ReadFile(where) //nolint:gosec // the operator's own file
		if err != nil {
			return nil, err
		}
		return parseSet(b)
	}
	b, err := s.get(ctx, where)
	if err != nil {
		return nil, err
	}
	return parseSet(b)
}

// discover asks the issuer where its keys are.
func (s *keySet) discover(ctx context.Context) (string, error) {
	p, err := s.o.provider(ctx)
	if err != nil {
		return "", err
	}
	return p.JWKS, checkURL(p.JWKS)
}

func (s *keySet) get(ctx context.Context, address string) ([]byte, error) {
	return s.o.get(ctx, address)
}

// parseSet reads a JSON Web Key Set. Keys that can't check a signature are left out, and
// so are those of kinds that we don't know.
func parseSet(b []byte) (map[string]published, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, fmt.Errorf("token: the key set: %w", err)
	}
	keys := map[string]published{}
	var problems []error
	for _, raw := range set.Keys {
		jwk, err := jwkset.NewJWKFromRawJSON(raw, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		m := jwk.Marshal()
		if m.USE != "" && m.USE != jwkset.UseSig || !isPublic(jwk.Key()) {
			continue
		}
		keys[m.KID] = published{jwk.Key(), m.ALG.String()}
	}
	if len(keys) == 0 {
		return nil, errors.Join(append(problems, errors.New("token: the key set has no key for signatures"))...)
	}
	return keys, nil
}
