// Package session keeps people of the web app signed in: a sealed cookie in place
// of a key or token that the page would have to keep.
package session

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parley-dev/parley/server/auth"
)

// DefaultLife is how long a session lasts; never longer than the token by which it began.
const DefaultLife = 12 * time.Hour

// SmallestSecret is how many bytes a secret must have.
const SmallestSecret = 32

// Session is what a cookie holds.
type Session struct {
	// KeyID is the API key by which it began; it is looked up for each request, so that its end ends
	// the session. "" for a token.
	KeyID string `json:"k,omitempty"`
	// The user of a token, as it said.
	Identity    string     `json:"u,omitempty"`
	DisplayName string     `json:"n,omitempty"`
	Project     string     `json:"p,omitempty"`
	Workspace   string     `json:"w,omitempty"`
	Roles       auth.Roles `json:"r,omitempty"`
	Agent       bool       `json:"a,omitempty"`
	// Expires is when it ends, in seconds since the epoch.
	Expires int64 `json:"x"`
}

// Of begins a session of a user who has shown a key or token.
func Of(u *auth.User, now time.Time) Session {
	end := now.Add(DefaultLife)
	if !u.Expires.IsZero() && u.Expires.Before(end) {
		end = u.Expires
	}
	s := Session{KeyID: u.KeyID, Expires: end.Unix()}
	if u.KeyID == "" {
		s.Identity, s.DisplayName, s.Project, s.Workspace = u.Identity, u.DisplayName, u.Project, u.Workspace
		s.Roles, s.Agent = u.Roles, u.Agent
	}
	return s
}

// End is when the session ends.
func (s Session) End() time.Time { return time.Unix(s.Expires, 0).UTC() }

// TokenUser is the user of a session that began with a token.
func (s Session) TokenUser() *auth.User {
	return &auth.User{
		Kind: auth.KindToken, Identity: s.Identity, DisplayName: s.DisplayName, Project: s.Project, Workspace: s.Workspace,
		Roles: s.Roles, Agent: s.Agent, Expires: s.End(),
	}
}

// Sealer seals and opens sessions (AES-256-GCM): nobody else can read, make or change one.
type Sealer struct{ aead cipher.AEAD }

// purpose keeps sessions apart from whatever else the secret may seal one day.
const purpose = "parley session v1"

// NewSealer derives the key from a secret of at least SmallestSecret bytes.
func NewSealer(secret []byte) (*Sealer, error) {
	if len(secret) < SmallestSecret {
		return nil, fmt.Errorf("session: the secret has %d bytes, want %d or more", len(secret), SmallestSecret)
	}
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead}, nil
}

// Seal is the cookie's value.
func (s *Sealer) Seal(v Session) (string, error) { return s.SealAs(purpose, v) }

// SealAs seals anything else for a purpose of its own: as another it is not opened.
func (s *Sealer) SealAs(purpose string, v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, b, []byte(purpose))), nil
}

// ErrInvalid is returned for a cookie that is no session of this server's, or one that is over.
var ErrInvalid = errors.New("session: invalid or over")

// LongestCookie bounds what is looked at; browsers keep no more of a cookie with its name.
const LongestCookie = 4096

// Open reads a cookie's value.
func (s *Sealer) Open(value string, now time.Time) (Session, error) {
	var v Session
	if err := s.OpenAs(purpose, value, &v); err != nil || !now.Before(v.End()) || v.KeyID == "" && v.Identity == "" {
		return Session{}, ErrInvalid
	}
	return v, nil
}

// OpenAs reads what SealAs has sealed for a purpose; ErrInvalid for anything else.
func (s *Sealer) OpenAs(purpose, value string, into any) error {
	if len(value) > LongestCookie {
		return ErrInvalid
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(value)
	if err != nil {
		return ErrInvalid
	}
	b, err := s.aead.Open(nil, nil, sealed, []byte(purpose))
	if err != nil || json.Unmarshal(b, into) != nil {
		return ErrInvalid
	}
	return nil
}
