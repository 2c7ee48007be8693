package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/server/auth/session"
	"github.com/parley-dev/parley/thread"
)

// sessions seals and opens the web app's sessions. What seals them is given, or made with
// the first one and kept among the store's keys, so that all replicas share it.
type sessions struct {
	store thread.Keys // nil: a secret of this process

	mu     sync.Mutex
	sealer *session.Sealer
}

// sessionRecord is the id under which the store keeps the secret; no API key has that form.
const sessionRecord = "session"

func newSessions(store thread.Keys, secret string) (*sessions, error) {
	s := &sessions{store: store}
	if secret == "" {
		return s, nil
	}
	var err error
	s.sealer, err = session.NewSealer([]byte(secret))
	return s, err
}

// open reads a session's cookie. An *auth.Error refuses it; other errors are the store's.
func (s *sessions) open(ctx context.Context, value string) (session.Session, error) {
	sealer, err := s.get(ctx, false)
	if err != nil {
		return session.Session{}, err
	}
	if sealer == nil {
		return session.Session{}, errSignedOut
	}
	v, err := sealer.Open(value, time.Now())
	if errors.Is(err, session.ErrInvalid) {
		err = errSignedOut
	}
	return v, err
}

// seal makes a session's cookie for a user who has shown a key or token.
func (s *sessions) seal(ctx context.Context, u *auth.User) (string, session.Session, error) {
	return s.sealFrom(ctx, u, time.Now())
}

// sealFrom is seal for a session that began before.
func (s *sessions) sealFrom(ctx context.Context, u *auth.User, began time.Time) (string, session.Session, error) {
	v := session.Of(u, began)
	sealer, err := s.get(ctx, true)
	if err != nil {
		return "", v, err
	}
	value, err := sealer.Seal(v)
	return value, v, err
}

// sealAs makes a cookie for another purpose.
func (s *sessions) sealAs(ctx context.Context, purpose string, v any) (string, error) {
	sealer, err := s.get(ctx, true)
	if err != nil {
		return "", err
	}
	return sealer.SealAs(purpose, v)
}

// openAs reads such a cookie: session.ErrInvalid for anything else, other errors are the store's.
func (s *sessions) openAs(ctx context.Context, purpose, value string, into any) error {
	sealer, err := s.get(ctx, false)
	switch {
	case err != nil:
		return err
	case sealer == nil:
		return session.ErrInvalid
	}
	return sealer.OpenAs(purpose, value, into)
}

// get finds what seals; without create, nil when there is nothing yet.
func (s *sessions) get(ctx context.Context, create bool) (*session.Sealer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealer != nil {
		return s.sealer, nil
	}
	secret, err := s.secret(ctx, create)
	if err != nil || secret == "" {
		return nil, err
	}
	s.sealer, err = session.NewSealer([]byte(secret))
	return s.sealer, err
}

func (s *sessions) secret(ctx context.Context, create bool) (string, error) {
	if s.store != nil {
		k, err := s.store.GetKey(ctx, sessionRecord)
		if err == nil {
			return k.Hash, nil
		}
		if !errors.Is(err, thread.ErrNotFound) {
			return "", err
		}
	}
	if !create {
		return "", nil
	}
	random := make([]byte, session.SmallestSecret)
	if _, err := rand.Read(random); err != nil { // crypto/rand never fails since Go 1.24
		return "", err
	}
	secret := hex.EncodeToString(random)
	if s.store == nil {
		return secret, nil
	}
	k := thread.Key{ID: sessionRecord, Project: keys.InternalProject, Name: "what seals sessions", Hash: secret, Roles: []string{}}
	err := s.store.CreateKey(ctx, k, thread.AuditBody{Action: thread.AuditKeyCreated, Actor: thread.Actor{Kind: "system"}, Detail: k.Public()})
	if errors.Is(err, thread.ErrExists) { // another replica was faster
		k, err = s.store.GetKey(ctx, sessionRecord)
	}
	return k.Hash, err
}
