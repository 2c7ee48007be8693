package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// systemNamespace is the namespace of the ids of system assistants (spec/rest-api.md 1.5).
var systemNamespace = uuid.MustParse("6ba7b821-9dad-11d1-80b4-00c04fd430c8")

// createdBySystem is metadata.created_by of a system assistant.
const createdBySystem = "system"

// SystemAssistantID is the id of the assistant that the server makes for a graph:
// the UUIDv5 of the graph id.
func SystemAssistantID(graphID string) string {
	return uuid.NewSHA1(systemNamespace, []byte(graphID)).String()
}

// createSystemAssistants makes an assistant for each of the graphs. Existing
// ones get the configured defaults where these have changed.
func (s *Service) createSystemAssistants(ctx context.Context, graphs []string) error {
	for _, graphID := range graphs {
		want := s.systemAssistant(graphID)
		err := s.store.CreateAssistant(ctx, want)
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrExists) {
			return fmt.Errorf("create the assistant of graph %s: %w", graphID, err)
		}
		have, err := s.store.GetAssistant(ctx, want.ID)
		if err != nil {
			return fmt.Errorf("read the assistant of graph %s: %w", graphID, err)
		}
		if _, configured := s.opts.GraphDefaults[graphID]; !configured || sameDefaults(have, want) {
			continue
		}
		if _, err := s.store.PatchAssistant(ctx, want.ID, func(a *Assistant) {
			a.Config, a.Context, a.UpdatedAt = want.Config, want.Context, want.UpdatedAt
		}); err != nil {
			return fmt.Errorf("update the assistant of graph %s: %w", graphID, err)
		}
	}
	return nil
}

func (s *Service) systemAssistant(graphID string) Assistant {
	now, d := s.clock.Now(), s.opts.GraphDefaults[graphID]
	return Assistant{
		ID: SystemAssistantID(graphID), GraphID: graphID, Name: graphID, Version: 1,
		Config: orObject(d.Config), Context: orObject(d.Context),
		Metadata: Metadata{"created_by": quoted(createdBySystem)}, CreatedAt: now, UpdatedAt: now,
	}
}

func sameDefaults(a, b Assistant) bool {
	return slices.Equal(canonical(a.Config), canonical(b.Config)) && slices.Equal(canonical(a.Context), canonical(b.Context))
}

// orObject is raw, or {} where it is absent.
func orObject(raw json.RawMessage) json.RawMessage {
	if isNull(raw) {
		return json.RawMessage("{}")
	}
	return raw
}

// CreateAssistant stores an assistant; with doNothing an existing one is returned
// unchanged. That the graph is registered isn't checked. Errors: ErrExists, *InvalidInputError.
func (s *Service) CreateAssistant(ctx context.Context, a Assistant, doNothing bool) (Assistant, error) {
	if a.ID == "" {
		a.ID = newID()
	} else if _, err := uuid.Parse(a.ID); err != nil || len(a.ID) != 36 {
		return Assistant{}, &InvalidInputError{Path: []string{"assistant_id"}, Message: "assistant_id must be a UUID"}
	}
	if a.GraphID == "" {
		return Assistant{}, &InvalidInputError{Path: []string{"graph_id"}, Message: "graph_id is required"}
	}
	if _, err := parseConfig("config", a.Config); err != nil {
		return Assistant{}, err
	}
	if a.Name == "" {
		a.Name = "Untitled"
	}
	a.Version, a.CreatedAt = 1, s.clock.Now()
	a.UpdatedAt = a.CreatedAt
	a.Config, a.Context, a.Metadata = orObject(a.Config), orObject(a.Context), merged(a.Metadata)
	err := s.store.CreateAssistant(ctx, a)
	if errors.Is(err, ErrExists) && doNothing {
		return s.store.GetAssistant(ctx, a.ID)
	}
	if err != nil {
		return Assistant{}, err
	}
	return a, nil
}

// Assistant resolves an assistant UUID or a graph id, which stands for the
// graph's system assistant. Errors: *NotFoundError.
func (s *Service) Assistant(ctx context.Context, idOrGraph string) (Assistant, error) {
	if _, ok := s.registry.Load().agents[idOrGraph]; ok {
		return s.system(ctx, idOrGraph)
	}
	a, err := s.store.GetAssistant(ctx, idOrGraph)
	return a, notFound(err, "assistant", idOrGraph)
}

// system returns a graph's system assistant, made anew if somebody removed it.
func (s *Service) system(ctx context.Context, graphID string) (Assistant, error) {
	a, err := s.store.GetAssistant(ctx, SystemAssistantID(graphID))
	if !errors.Is(err, ErrNotFound) {
		return a, err
	}
	made := s.systemAssistant(graphID)
	if err := s.store.CreateAssistant(ctx, made); err == nil || !errors.Is(err, ErrExists) {
		return made, err
	}
	return s.store.GetAssistant(ctx, made.ID)
}

// AssistantPatch changes an assistant; nil fields stay.
type AssistantPatch struct {
	GraphID     *string
	Name        *string
	Description *string
	Config      json.RawMessage
	Context     json.RawMessage
	Metadata    Metadata // merged
}

// PatchAssistant stores a new version, also for an empty patch. Errors: *NotFoundError, *InvalidInputError.
func (s *Service) PatchAssistant(ctx context.Context, id string, p AssistantPatch) (Assistant, error) {
	if _, err := parseConfig("config", p.Config); err != nil {
		return Assistant{}, err
	}
	current, err := s.Assistant(ctx, id)
	if err != nil {
		return Assistant{}, err
	}
	a, err := s.store.PatchAssistant(ctx, current.ID, func(a *Assistant) {
		if p.GraphID != nil {
			a.GraphID = *p.GraphID
		}
		if p.Name != nil {
			a.Name = *p.Name
		}
		if p.Description != nil {
			a.Description = p.Description
		}
		if p.Config != nil {
			a.Config = orObject(p.Config)
		}
		if p.Context != nil {
			a.Context = orObject(p.Context)
		}
		a.Metadata = merged(a.Metadata, p.Metadata)
		a.UpdatedAt = s.clock.Now()
	})
	return a, notFound(err, "assistant", id)
}

// SetAssistantVersion makes an existing version the current one. Errors: *NotFoundError (assistant, version).
func (s *Service) SetAssistantVersion(ctx context.Context, id string, version int) (Assistant, error) {
	current, err := s.Assistant(ctx, id)
	if err != nil {
		return Assistant{}, err
	}
	a, err := s.store.SetAssistantVersion(ctx, current.ID, version, s.clock.Now())
	return a, notFound(err, "version", id)
}

// DeleteAssistant removes an assistant, its versions and runs, and with threads
// also the threads whose metadata.assistant_id is its id. Errors: *NotFoundError.
func (s *Service) DeleteAssistant(ctx context.Context, id string, threads bool) error {
	a, err := s.Assistant(ctx, id)
	if err != nil {
		return err
	}
	found, _, err := s.store.SearchThreads(ctx, ThreadQuery{Metadata: Metadata{"assistant_id": quoted(a.ID)}})
	if err != nil {
		return err
	}
	for _, t := range found {
		if threads {
			err = s.DeleteThread(ctx, t.ID)
		} else {
			err = s.deleteRunsOf(ctx, t.ID, a.ID)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return notFound(s.store.DeleteAssistant(ctx, a.ID), "assistant", id)
}

func (s *Service) deleteRunsOf(ctx context.Context, threadID, assistantID string) error {
	runs, err := s.store.ListRuns(ctx, threadID, RunQuery{})
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.AssistantID != assistantID {
			continue
		}
		if err := s.DeleteRun(ctx, threadID, run.ID); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}
