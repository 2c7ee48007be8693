package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
)

type threadHistory struct {
	oneThread
	output
	Limit int `help:"At most so many." default:"10"`
}

// Run implements the command.
func (cmd *threadHistory) Run(s *Streams) error {
	return cmd.table(s, "/history", cmd.Limit, cmd.JSON, checkpointTable)
}

type threadRuns struct {
	oneThread
	output
	Limit int `help:"At most so many." default:"20"`
}

// Run implements the command.
func (cmd *threadRuns) Run(s *Streams) error {
	return cmd.table(s, "/runs", cmd.Limit, cmd.JSON, runTable)
}

// table prints a list of the thread's, as it comes or as a table.
func (cmd *oneThread) table(s *Streams, path string, limit int, asJSON bool, write func(io.Writer, json.RawMessage) error) error {
	raw, err := cmd.fetch(path, url.Values{"limit": {strconv.Itoa(limit)}})
	if err != nil {
		return err
	}
	if asJSON {
		return writeIndented(s.Out, raw)
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	if err := write(w, raw); err != nil {
		return err
	}
	return w.Flush()
}

func runTable(w io.Writer, raw json.RawMessage) error {
	var list []struct {
		ID        string `json:"run_id"`
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
	_, _ = fmt.Fprintln(w, "RUN\tSTATUS\tAGENT\tCREATED\tUPDATED") // Flush has the error
	for _, r := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Status, or(oneLine(r.Metadata.Graph), "-"), r.CreatedAt, r.UpdatedAt)
	}
	return nil
}

func checkpointTable(w io.Writer, raw json.RawMessage) error {
	var list []struct {
		Checkpoint struct {
			ID string `json:"checkpoint_id"`
		} `json:"checkpoint"`
		CreatedAt string   `json:"created_at"`
		Next      []string `json:"next"`
		Tasks     []struct {
			Interrupts []json.RawMessage `json:"interrupts"`
		} `json:"tasks"`
		Metadata struct {
			Step   json.Number `json:"step"`
			Source string      `json:"source"`
			Run    string      `json:"run_id"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(w, "CHECKPOINT\tSTEP\tBY\tNEXT\tQUESTIONS\tRUN\tCREATED") // Flush has the error
	for _, c := range list {
		questions := 0
		for _, t := range c.Tasks {
			questions += len(t.Interrupts)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", c.Checkpoint.ID, or(c.Metadata.Step.String(), "-"), or(oneLine(c.Metadata.Source), "-"),
			or(oneLine(strings.Join(c.Next, ", ")), "-"), questions, or(oneLine(c.Metadata.Run), "-"), c.CreatedAt)
	}
	return nil
}
