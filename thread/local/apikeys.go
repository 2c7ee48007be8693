package local

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/transfer"
)

const (
	selectKeys   = `SELECT id, project, created, revoked, doc FROM api_keys`
	insertAPIKey = `INSERT INTO api_keys(id, project, created, revoked, doc) VALUES(?,?,?,?,?)`
)

func readKey(r *rows) transfer.APIKey {
	return transfer.APIKey{ID: r.text(0), Project: r.text(1), Created: r.int(2), Revoked: r.int(3), Doc: r.blob(4)}
}

func loadKey(c *conn, id string) (thread.Key, error) {
	var k transfer.APIKey
	ok, err := c.one(func(r *rows) { k = readKey(r) }, selectKeys+` WHERE id=?`, id)
	if err == nil && !ok {
		err = &thread.NotFoundError{Kind: notFoundKey, ID: id}
	}
	if err != nil {
		return thread.Key{}, err
	}
	return k.Key()
}

func putKey(c *conn, k *transfer.APIKey) error {
	_, err := c.exec(insertAPIKey, k.ID, k.Project, k.Created, k.Revoked, json.RawMessage(k.Doc))
	return err
}

// auditKey completes the entry of a change of a key, and writes it.
func (s *Store) auditKey(t *tx, k thread.Key, action string, b thread.AuditBody) error {
	if b.Action == "" {
		b.Action = action
	}
	if b.Detail == nil {
		b.Detail = k.Public()
	}
	_, err := appendAudit(t.conn, k.Project, 0, "", b, s.now())
	return err
}

// CreateKey implements thread.Keys.
func (s *Store) CreateKey(ctx context.Context, k thread.Key, audit thread.AuditBody) error {
	if k.Project == "" {
		k.Project = thread.DefaultProject
	}
	audit = audit.By(thread.ActorFrom(ctx))
	if _, err := audit.Canonical(); err != nil {
		return err
	}
	return s.write(ctx, true, func(t *tx) error {
		taken, err := t.one(func(*rows) {}, `SELECT 1 FROM api_keys WHERE id=?`, k.ID)
		if err != nil || taken {
			return errorsFirst(err, fmt.Errorf("key %s: %w", k.ID, thread.ErrExists))
		}
		k.CreatedAt = storeTime(s.orNow(k.CreatedAt))
		doc, err := transfer.KeyOf(k)
		if err != nil {
			return err
		}
		if err := putKey(t.conn, doc); err != nil {
			return err
		}
		return s.auditKey(t, k, thread.AuditKeyCreated, audit)
	})
}

// GetKey implements thread.Keys.
func (s *Store) GetKey(ctx context.Context, id string) (k thread.Key, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		k, err = loadKey(c, id)
		return err
	})
	return k, err
}

// ListKeys implements thread.Keys.
func (s *Store) ListKeys(ctx context.Context, project string) (list []thread.Key, err error) {
	err = s.read(ctx, func(c *conn) error {
		r := c.query(selectKeys+` WHERE ?1='' OR project=?1 ORDER BY created, id`, project)
		for r.next() {
			doc := readKey(r)
			k, err := doc.Key()
			if err != nil {
				return errorsFirst(err, r.close())
			}
			list = append(list, k)
		}
		return r.close()
	})
	return list, err
}

// RevokeKey implements thread.Keys.
func (s *Store) RevokeKey(ctx context.Context, id string, audit thread.AuditBody) (k thread.Key, err error) {
	audit = audit.By(thread.ActorFrom(ctx))
	if _, err := audit.Canonical(); err != nil {
		return k, err
	}
	err = s.write(ctx, true, func(t *tx) (err error) {
		if k, err = loadKey(t.conn, id); err != nil || !k.RevokedAt.IsZero() {
			return err
		}
		before := k
		k.RevokedAt = storeTime(s.now())
		if _, err := t.exec(`UPDATE api_keys SET revoked=? WHERE id=?`, micros(k.RevokedAt), id); err != nil {
			return err
		}
		return s.auditKey(t, before, thread.AuditKeyRevoked, audit)
	})
	return k, err
}
