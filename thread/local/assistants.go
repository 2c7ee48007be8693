package local

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
)

const (
	selectAssistant = `SELECT a.id, a.version, a.created, a.updated, v.doc FROM assistants a
		JOIN assistant_versions v ON v.assistant=a.id AND v.version=a.version`
	insertVersion = `INSERT INTO assistant_versions(assistant, version, created, doc) VALUES(?,?,?,?)`
)

// assistantDoc is what a version of an assistant holds.
type assistantDoc struct {
	GraphID     string          `json:"graph_id"`
	Name        string          `json:"name"`
	Description *string         `json:"description,omitempty"`
	Config      json.RawMessage `json:"config,omitempty"`
	Context     json.RawMessage `json:"context,omitempty"`
	Metadata    thread.Metadata `json:"metadata,omitempty"`
}

func encodeAssistant(a thread.Assistant) (json.RawMessage, error) {
	return json.Marshal(assistantDoc{GraphID: a.GraphID, Name: a.Name, Description: a.Description, Config: a.Config, Context: a.Context, Metadata: a.Metadata})
}

func decodeAssistant(a *thread.Assistant, doc []byte) error {
	var d assistantDoc
	if err := json.Unmarshal(doc, &d); err != nil {
		return err
	}
	a.GraphID, a.Name, a.Description, a.Config, a.Context, a.Metadata = d.GraphID, d.Name, d.Description, d.Config, d.Context, d.Metadata
	if a.Metadata == nil {
		a.Metadata = thread.Metadata{}
	}
	return nil
}

func readAssistant(r *rows) (thread.Assistant, error) {
	a := thread.Assistant{ID: r.text(0), Version: int(r.int(1)), CreatedAt: timeOf(r.int(2)), UpdatedAt: timeOf(r.int(3))}
	return a, decodeAssistant(&a, r.view(4))
}

func loadAssistant(c *conn, id string) (a thread.Assistant, err error) {
	var bad error
	ok, err := c.one(func(r *rows) { a, bad = readAssistant(r) }, selectAssistant+` WHERE a.id=?`, id)
	if err == nil && !ok {
		err = &thread.NotFoundError{Kind: notFoundAssistant, ID: id}
	}
	return a, errorsFirst(err, bad)
}

// CreateAssistant implements thread.Assistants.
func (s *Store) CreateAssistant(ctx context.Context, a thread.Assistant) error {
	doc, err := encodeAssistant(a)
	if err != nil {
		return err
	}
	return s.write(ctx, true, func(t *tx) error {
		taken, err := t.one(func(*rows) {}, `SELECT 1 FROM assistants WHERE id=?`, a.ID)
		if err != nil || taken {
			return errorsFirst(err, fmt.Errorf("assistant %s: %w", a.ID, thread.ErrExists))
		}
		created := micros(s.orNow(a.CreatedAt))
		_, err = t.exec(`INSERT INTO assistants(id, version, graph, created, updated) VALUES(?,1,?,?,?)`,
			a.ID, a.GraphID, created, micros(s.orNow(a.UpdatedAt)))
		if err != nil {
			return err
		}
		_, err = t.exec(insertVersion, a.ID, 1, created, doc)
		return err
	})
}

// GetAssistant implements thread.Assistants.
func (s *Store) GetAssistant(ctx context.Context, id string) (a thread.Assistant, err error) {
	err = s.read(ctx, func(c *conn) error {
		a, err = loadAssistant(c, id)
		return err
	})
	return a, err
}

// PatchAssistant implements thread.Assistants. change may run more than once.
func (s *Store) PatchAssistant(ctx context.Context, id string, change func(*thread.Assistant)) (a thread.Assistant, err error) {
	err = s.write(ctx, true, func(t *tx) error {
		if a, err = loadAssistant(t.conn, id); err != nil {
			return err
		}
		created, updated := a.CreatedAt, a.UpdatedAt
		change(&a)
		a.ID, a.CreatedAt = id, created
		if !a.UpdatedAt.After(updated) {
			a.UpdatedAt = s.now()
		}
		var newest int64
		if _, err := t.one(func(r *rows) { newest = r.int(0) }, `SELECT max(version) FROM assistant_versions WHERE assistant=?`, id); err != nil {
			return err
		}
		a.Version = int(newest) + 1
		doc, err := encodeAssistant(a)
		if err != nil {
			return err
		}
		at := micros(a.UpdatedAt)
		if _, err := t.exec(insertVersion, id, a.Version, at, doc); err != nil {
			return err
		}
		_, err = t.exec(`UPDATE assistants SET version=?, graph=?, updated=? WHERE id=?`, a.Version, a.GraphID, at, id)
		a.UpdatedAt = timeOf(at)
		return err
	})
	return a, err
}

// SetAssistantVersion implements thread.Assistants.
func (s *Store) SetAssistantVersion(ctx context.Context, id string, version int, at time.Time) (a thread.Assistant, err error) {
	err = s.write(ctx, true, func(t *tx) error {
		if _, err := loadAssistant(t.conn, id); err != nil {
			return err
		}
		ok, err := t.one(func(*rows) {}, `SELECT 1 FROM assistant_versions WHERE assistant=? AND version=?`, id, version)
		if err != nil || !ok {
			return errorsFirst(err, &thread.NotFoundError{Kind: notFoundVersion, ID: id})
		}
		if _, err := t.exec(`UPDATE assistants SET version=?, updated=? WHERE id=?`, version, micros(s.orNow(at)), id); err != nil {
			return err
		}
		if a, err = loadAssistant(t.conn, id); err != nil {
			return err
		}
		_, err = t.exec(`UPDATE assistants SET graph=? WHERE id=?`, a.GraphID, id)
		return err
	})
	return a, err
}

// AssistantVersions implements thread.Assistants: newest first.
func (s *Store) AssistantVersions(ctx context.Context, id string, metadata thread.Metadata, limit, offset int) (list []thread.Assistant, err error) {
	err = s.read(ctx, func(c *conn) error {
		list = nil
		r := c.query(`SELECT version, created, doc FROM assistant_versions WHERE assistant=? ORDER BY version DESC`, id)
		for r.next() {
			a := thread.Assistant{ID: id, Version: int(r.int(0)), CreatedAt: timeOf(r.int(1)), UpdatedAt: timeOf(r.int(1))}
			if err := decodeAssistant(&a, r.view(2)); err != nil {
				return errorsFirst(err, r.close())
			}
			if a.Metadata.Contains(metadata) {
				list = append(list, a)
			}
		}
		return r.close()
	})
	return query.Page(list, limit, offset), err
}

// DeleteAssistant implements thread.Assistants.
func (s *Store) DeleteAssistant(ctx context.Context, id string) error {
	return s.write(ctx, true, func(t *tx) error {
		n, err := t.exec(`DELETE FROM assistants WHERE id=?`, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return &thread.NotFoundError{Kind: notFoundAssistant, ID: id}
		}
		_, err = t.exec(`DELETE FROM assistant_versions WHERE assistant=?`, id)
		return err
	})
}

// SearchAssistants implements thread.Assistants.
func (s *Store) SearchAssistants(ctx context.Context, q thread.AssistantQuery) (list []thread.Assistant, total int, err error) {
	err = s.read(ctx, func(c *conn) error {
		list = nil
		r := c.query(selectAssistant + ` ORDER BY a.created DESC, a.id`)
		for r.next() {
			a, err := readAssistant(r)
			if err != nil {
				return errorsFirst(err, r.close())
			}
			if query.AssistantMatches(q, a) {
				list = append(list, a)
			}
		}
		return r.close()
	})
	if err != nil {
		return nil, 0, err
	}
	query.SortAssistants(list, q.SortBy, q.SortAsc)
	return query.Page(list, q.Limit, q.Offset), len(list), nil
}
