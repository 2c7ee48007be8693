package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// agentNotFound is the server's code for an agent that it doesn't have.
const agentNotFound = "AGENT_NOT_FOUND"

// mostAgents bounds the list of them in a message.
const mostAgents = 100

// assistant is what is read of an assistant: an agent, by its name or by this id.
type assistant struct {
	ID    string `json:"assistant_id"`
	Graph string `json:"graph_id"`
}

// knows checks that the server has an agent of this name or id, and says which it has. A server that lists none to the
// caller isn't asked further.
func (c *client) knows(ctx context.Context, name string) error {
	found, err := c.assistants(ctx, map[string]any{"graph_id": name, "limit": 1})
	if err == nil && len(found) == 0 {
		err = c.call(ctx, http.MethodGet, "/assistants/"+url.PathEscape(name), nil, nil, nil)
	}
	var api *APIError
	if !errors.As(err, &api) {
		return err
	}
	switch api.Status {
	case http.StatusNotFound, http.StatusBadRequest, http.StatusUnprocessableEntity: // the id of none, or no id
		e := &APIError{Status: http.StatusNotFound, Code: agentNotFound, Detail: fmt.Sprintf("There is no agent %q.", name)}
		return c.withAgents(ctx, e)
	case http.StatusForbidden:
		return nil
	}
	return err
}

func (c *client) assistants(ctx context.Context, search map[string]any) (list []assistant, err error) {
	err = c.call(ctx, http.MethodPost, "/assistants/search", nil, search, &list)
	return list, err
}

// withAgents says with a refusal which agents there are.
func (c *client) withAgents(ctx context.Context, e *APIError) error {
	list, err := c.assistants(ctx, map[string]any{"limit": mostAgents})
	if err != nil {
		return e //nolint:nilerr // what was to be told first
	}
	var names []string
	for _, a := range list {
		if !slices.Contains(names, a.Graph) {
			names = append(names, a.Graph)
		}
	}
	if slices.Sort(names); len(names) > 0 {
		e.Fields = append(e.Fields, "there are "+strings.Join(names, ", "))
	}
	return e
}
