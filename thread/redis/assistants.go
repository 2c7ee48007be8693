package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
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

func encodeAssistant(a thread.Assistant) ([]byte, error) {
	return encodeJSON(assistantDoc{GraphID: a.GraphID, Name: a.Name, Description: a.Description, Config: a.Config, Context: a.Context, Metadata: a.Metadata})
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

// assistant is an assistant with the number of its changes.
type assistant struct {
	thread.Assistant
	changes int64
}

// readAssistants reads one assistant, its versions, or (id "") all assistants.
func (s *Store) readAssistants(ctx context.Context, id string, versions bool) (list []assistant, err error) {
	r := s.eval(ctx, "assistants", s.keys.assistants(), id, versions)
	for r.more() {
		a := assistant{Assistant: thread.Assistant{ID: r.text(), Version: int(r.int()), CreatedAt: timeOf(r.int()), UpdatedAt: timeOf(r.int())}, changes: r.int()}
		doc := r.blob()
		if r.err != nil {
			break
		}
		if err := decodeAssistant(&a.Assistant, doc); err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, r.err
}

func (s *Store) readAssistant(ctx context.Context, id string) (assistant, error) {
	list, err := s.readAssistants(ctx, id, false)
	if err == nil && len(list) == 0 || id == "" {
		err = &thread.NotFoundError{Kind: notFoundAssistant, ID: id}
	}
	if err != nil {
		return assistant{}, err
	}
	return list[0], nil
}

// storeAssistant runs one of the script's transitions.
func (s *Store) storeAssistant(ctx context.Context, what string, a thread.Assistant, version int64) (thread.Assistant, error) {
	doc, err := encodeAssistant(a)
	if err != nil {
		return a, err
	}
	r := s.eval(ctx, "assistant", s.keys.assistants(), newOp(), what, a.ID, version, micros(orNow(a.CreatedAt)), micros(orNow(a.UpdatedAt)), doc)
	if r.err != nil {
		return a, r.err
	}
	switch status := r.status(); {
	case status == "STALE":
		return a, errStale
	case status == "GONE" && what == "current":
		return a, &thread.NotFoundError{Kind: notFoundVersion, ID: a.ID}
	case status == "GONE":
		return a, &thread.NotFoundError{Kind: notFoundAssistant, ID: a.ID}
	case r.err != nil:
		return a, fmt.Errorf("assistant %s: %w", a.ID, r.err)
	}
	out := thread.Assistant{ID: a.ID, Version: int(r.int()), CreatedAt: timeOf(r.int()), UpdatedAt: timeOf(r.int())}
	stored := r.blob()
	if r.err != nil {
		return a, r.err
	}
	return out, decodeAssistant(&out, stored)
}

// orNow is at, or the present time when at is zero.
func orNow(at time.Time) time.Time {
	if at.IsZero() {
		return time.Now()
	}
	return at
}

// CreateAssistant implements thread.Assistants.
func (s *Store) CreateAssistant(ctx context.Context, a thread.Assistant) error {
	_, err := s.storeAssistant(ctx, "create", a, 1)
	return err
}

// GetAssistant implements thread.Assistants.
func (s *Store) GetAssistant(ctx context.Context, id string) (thread.Assistant, error) {
	a, err := s.readAssistant(ctx, id)
	return a.Assistant, err
}

// PatchAssistant implements thread.Assistants. change may run more than once.
func (s *Store) PatchAssistant(ctx context.Context, id string, change func(*thread.Assistant)) (thread.Assistant, error) {
	for {
		a, err := s.readAssistant(ctx, id)
		if err != nil {
			return thread.Assistant{}, err
		}
		created, updated := a.CreatedAt, a.UpdatedAt
		change(&a.Assistant)
		a.ID, a.CreatedAt = id, created
		if !a.UpdatedAt.After(updated) {
			a.UpdatedAt = time.Now()
		}
		out, err := s.storeAssistant(ctx, "patch", a.Assistant, a.changes)
		if !errors.Is(err, errStale) {
			return out, err
		}
	}
}

// SetAssistantVersion implements thread.Assistants.
func (s *Store) SetAssistantVersion(ctx context.Context, id string, version int, at time.Time) (thread.Assistant, error) {
	if _, err := s.readAssistant(ctx, id); err != nil {
		return thread.Assistant{}, err
	}
	return s.storeAssistant(ctx, "current", thread.Assistant{ID: id, UpdatedAt: at}, int64(version))
}

// AssistantVersions implements thread.Assistants: newest first.
func (s *Store) AssistantVersions(ctx context.Context, id string, metadata thread.Metadata, limit, offset int) (list []thread.Assistant, err error) {
	if id == "" {
		return nil, nil
	}
	all, err := s.readAssistants(ctx, id, true)
	for _, a := range all {
		if a.Metadata.Contains(metadata) {
			list = append(list, a.Assistant)
		}
	}
	return query.Page(list, limit, offset), err
}

// DeleteAssistant implements thread.Assistants.
func (s *Store) DeleteAssistant(ctx context.Context, id string) error {
	r := s.eval(ctx, "unassist", append(s.keys.assistants(), s.keys.assistantsOp(newOp())), id)
	if r.err == nil && r.status() == "GONE" {
		return &thread.NotFoundError{Kind: notFoundAssistant, ID: id}
	}
	return r.err
}

// SearchAssistants implements thread.Assistants.
func (s *Store) SearchAssistants(ctx context.Context, q thread.AssistantQuery) (list []thread.Assistant, total int, err error) {
	all, err := s.readAssistants(ctx, "", false)
	if err != nil {
		return nil, 0, err
	}
	for _, a := range all {
		if query.AssistantMatches(q, a.Assistant) {
			list = append(list, a.Assistant)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if c := list[j].CreatedAt.Compare(list[i].CreatedAt); c != 0 {
			return c < 0
		}
		return list[i].ID < list[j].ID
	})
	query.SortAssistants(list, q.SortBy, q.SortAsc)
	return query.Page(list, q.Limit, q.Offset), len(list), nil
}
