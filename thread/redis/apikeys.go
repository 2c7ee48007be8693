package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

// An API key is stored as JSON behind a sign that says whether it was revoked.
const revokedSign = 'x'

func decodeKey(stored string) (k thread.Key, err error) {
	if stored == "" {
		return k, errCorrupt
	}
	err = json.Unmarshal([]byte(stored[1:]), &k)
	return k, err
}

// storedKey is a key as the script stores it.
func storedKey(doc []byte, revoked bool) string {
	if revoked {
		return string(rune(revokedSign)) + string(doc)
	}
	return "-" + string(doc)
}

// storeKey runs one of the script's transitions.
func (s *Store) storeKey(ctx context.Context, what string, k thread.Key, audit thread.AuditBody, action string) (thread.Key, error) {
	if audit.Action == "" {
		audit.Action = action
	}
	if audit.Detail == nil {
		public := k
		public.RevokedAt = time.Time{} // the entry's own time
		audit.Detail = public.Public()
	}
	e, err := newEntry(ctx, audit)
	if err != nil {
		return k, err
	}
	doc, err := encodeJSON(k)
	if err != nil {
		return k, err
	}
	keys := append(s.keys.sealing(k.Project, newOp()), s.keys.projects()[2])
	r := s.confirmed(ctx, "key", keys, append([]any{what, k.ID, []byte(doc), k.Project}, e.args()...)...)
	if r.err != nil {
		return k, r.err
	}
	if r.status() == "GONE" {
		return k, noKey(k.ID)
	}
	if r.err != nil {
		return k, fmt.Errorf("key %s: %w", k.ID, r.err)
	}
	if k, err = decodeKey(r.text()); err != nil {
		return k, err
	}
	return k, errorsFirst(r.err, r.unconfirmed)
}

func noKey(id string) error { return &thread.NotFoundError{Kind: notFoundKey, ID: id} }

// CreateKey implements thread.Keys.
func (s *Store) CreateKey(ctx context.Context, k thread.Key, audit thread.AuditBody) error {
	k.Project = orDefault(k.Project)
	if k.CreatedAt.IsZero() {
		var err error
		if k.CreatedAt, err = s.storeTime(ctx); err != nil {
			return err
		}
	}
	_, err := s.storeKey(ctx, "create", k, audit, thread.AuditKeyCreated)
	return err
}

// GetKey implements thread.Keys.
func (s *Store) GetKey(ctx context.Context, id string) (thread.Key, error) {
	stored, err := s.client.HGet(ctx, s.keys.projects()[2], id).Result()
	if errors.Is(err, rds.Nil) {
		return thread.Key{}, noKey(id)
	}
	if err != nil {
		return thread.Key{}, unavailable(err)
	}
	return decodeKey(stored)
}

// ListKeys implements thread.Keys.
func (s *Store) ListKeys(ctx context.Context, project string) (list []thread.Key, err error) {
	all, err := s.client.HVals(ctx, s.keys.projects()[2]).Result()
	if err != nil {
		return nil, unavailable(err)
	}
	for _, stored := range all {
		k, err := decodeKey(stored)
		if err != nil {
			return nil, err
		}
		if project == "" || k.Project == project {
			list = append(list, k)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if c := list[i].CreatedAt.Compare(list[j].CreatedAt); c != 0 {
			return c < 0
		}
		return list[i].ID < list[j].ID
	})
	return list, nil
}

// RevokeKey implements thread.Keys.
func (s *Store) RevokeKey(ctx context.Context, id string, audit thread.AuditBody) (thread.Key, error) {
	k, err := s.GetKey(ctx, id)
	if err != nil || !k.RevokedAt.IsZero() {
		return k, err
	}
	if k.RevokedAt, err = s.storeTime(ctx); err != nil {
		return k, err
	}
	return s.storeKey(ctx, "revoke", k, audit, thread.AuditKeyRevoked)
}
