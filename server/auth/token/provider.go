package token

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Provider is what an issuer says of itself in its OpenID Connect configuration.
type Provider struct {
	Issuer string `json:"issuer"`
	JWKS   string `json:"jwks_uri"`
	// Authorization, Token and EndSession are where people sign in, where codes are exchanged and where
	// people sign out; EndSession is "" where the issuer has no such page.
	Authorization string `json:"authorization_endpoint"`
	Token         string `json:"token_endpoint"`
	EndSession    string `json:"end_session_endpoint"`
	// AuthMethods are the ways in which clients may say who they are at Token; none: client_secret_basic.
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	// NamesItself tells that every answer to a sign-in says whose it is (RFC 9207).
	NamesItself bool `json:"authorization_response_iss_parameter_supported"`
}

// provider reads the issuer's configuration. Only the issuer itself is believed.
func (o Options) provider(ctx context.Context) (Provider, error) {
	var p Provider
	b, err := o.get(ctx, strings.TrimSuffix(o.Issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return p, fmt.Errorf("token: the issuer's configuration: %w", err)
	}
	if p.Issuer != o.Issuer {
		return Provider{}, fmt.Errorf("token: the configuration of %s is that of %q", o.Issuer, p.Issuer)
	}
	return p, nil
}

// get reads what an address has, up to longestSet bytes.
func (o Options) get(ctx context.Context, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	res, err := o.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // nothing is lost with it
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("token: %s: %s", address, res.Status)
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, longestSet+1))
	if len(b) > longestSet {
		return nil, fmt.Errorf("token: %s is too long", address)
	}
	return b, err
}

// configuration keeps what was read of a Provider for as long as keys are kept.
type configuration struct {
	mu   sync.Mutex
	p    Provider
	read time.Time // zero: never
}

// Provider is the issuer's configuration, read when it is first asked for and again every Options.Refresh. An
// older one counts on while the issuer is away.
func (v *Verifier) Provider(ctx context.Context) (Provider, error) {
	c := &v.config
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read.IsZero() && v.o.Now().Sub(c.read) < v.o.Refresh {
		return c.p, nil
	}
	p, err := v.o.provider(ctx)
	if err == nil {
		for _, address := range []string{p.Authorization, p.Token} {
			if err = checkURL(address); err != nil {
				break
			}
		}
	}
	if err == nil && p.EndSession != "" {
		err = checkURL(p.EndSession)
	}
	switch {
	case err == nil:
		c.p, c.read = p, v.o.Now()
	case c.read.IsZero():
		return Provider{}, fmt.Errorf("%w: %w", errUnavailable, err)
	}
	return c.p, nil
}
