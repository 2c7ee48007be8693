package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
)

// Threads are the commands of threads.
type Threads struct {
	List    listThreads   `cmd:"" help:"List threads, the newest first."`
	Show    showThread    `cmd:"" help:"Show a thread and its state."`
	History threadHistory `cmd:"" help:"List the checkpoints of a thread, the newest first."`
	Runs    threadRuns    `cmd:"" help:"List the runs of a thread."`
	Cancel  cancelRun     `cmd:"" help:"Cancel a run."`
	Delete  deleteThread  `cmd:"" help:"Remove a thread and all that belongs to it."`
}

type listThreads struct {
	Connection
	output
	Status   string            `help:"idle, busy, interrupted or error."`
	Metadata map[string]string `help:"That have this in their metadata." placeholder:"K=V"`
	Limit    int               `help:"At most so many." default:"20"`
}

// Run implements the command.
func (cmd *listThreads) Run(s *Streams) error {
	body := map[string]any{"limit": cmd.Limit}
	if cmd.Status != "" {
		body["status"] = cmd.Status
	}
	if len(cmd.Metadata) > 0 {
		body["metadata"] = cmd.Metadata
	}
	var raw json.RawMessage
	if err := cmd.client().call(context.Background(), http.MethodPost, "/threads/search", nil, body, &raw); err != nil {
		return coded(err)
	}
	if cmd.JSON {
		return writeIndented(s.Out, raw)
	}
	var list []struct {
		ID        string `json:"thread_id"`
		Status    string `json:"status"`
		CreatedAt string `json:"created_at"`
		UpdatedAt string `json:"updated_at"`
		Metadata  struct {
			Graph string `json:"graph_id"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tSTATUS\tAGENT\tCREATED\tUPDATED") // Flush has the error
	for _, t := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.ID, t.Status, or(oneLine(t.Metadata.Graph), "-"), t.CreatedAt, t.UpdatedAt)
	}
	return w.Flush()
}

// oneThread names a thread.
type oneThread struct {
	ID string `arg:"" help:"Id of the thread."`
	Connection
}

// fetch reads a resource of the thread.
func (cmd *oneThread) fetch(path string, query url.Values) (raw json.RawMessage, err error) {
	err = cmd.client().call(context.Background(), http.MethodGet, "/threads/"+url.PathEscape(cmd.ID)+path, query, nil, &raw)
	return raw, coded(err)
}

type showThread struct{ oneThread }

// Run implements the command.
func (cmd *showThread) Run(s *Streams) error {
	raw, err := cmd.fetch("", nil)
	if err != nil {
		return err
	}
	return writeIndented(s.Out, raw)
}

type cancelRun struct {
	oneThread
	RunID    string `arg:"" help:"Id of the run."`
	Rollback bool   `help:"Remove the run and what it did to the state, too."`
}

// Run implements the command.
func (cmd *cancelRun) Run(*Streams) error {
	query := url.Values{"wait": {"true"}, "action": {"interrupt"}}
	if cmd.Rollback {
		query.Set("action", "rollback")
	}
	path := "/threads/" + url.PathEscape(cmd.ID) + "/runs/" + url.PathEscape(cmd.RunID) + "/cancel"
	return coded(cmd.client().call(context.Background(), http.MethodPost, path, query, map[string]any{}, nil))
}

type deleteThread struct{ oneThread }

// Run implements the command.
func (cmd *deleteThread) Run(*Streams) error {
	return coded(cmd.client().call(context.Background(), http.MethodDelete, "/threads/"+url.PathEscape(cmd.ID), nil, nil, nil))
}
