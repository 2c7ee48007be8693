package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Audit are the commands of auditors.
type Audit struct {
	List   listAudit   `cmd:"" help:"List entries of the audit log, the newest first."`
	Export exportAudit `cmd:"" help:"Print the audit log whole, as JSON Lines or CSV."`
	Verify verifyAudit `cmd:"" help:"Check the chains of the audit log; the exit code tells."`
}

// auditFilter selects entries.
type auditFilter struct {
	Thread    string   `help:"Of this thread only." placeholder:"ID"`
	Execution string   `help:"Of this execution only." placeholder:"ID"`
	Review    string   `help:"Of this review only." placeholder:"ID"`
	Action    []string `help:"Of these actions only: review.decided, key.created, …"`
	Principal string   `help:"Of what this principal did."`
	Agent     string   `help:"Of this agent only."`
	Since     string   `help:"Not before this time (RFC 3339)." placeholder:"TIME"`
	Until     string   `help:"Before this time (RFC 3339)." placeholder:"TIME"`
}

// query is what the server is asked for. Errors: a time that is none, by its flag's name.
func (f *auditFilter) query() (url.Values, error) {
	for flag, text := range map[string]string{"--since": f.Since, "--until": f.Until} {
		if _, err := time.Parse(time.RFC3339Nano, text); text != "" && err != nil {
			return nil, &ExitError{2, fmt.Errorf("%s: %q is no time such as 2026-11-30T12:00:00Z (RFC 3339)", flag, text)}
		}
	}
	q := url.Values{}
	for k, v := range map[string]string{
		"thread_id": f.Thread, "execution_id": f.Execution, "review_id": f.Review, "principal": f.Principal,
		"agent": f.Agent, "since": f.Since, "until": f.Until,
	} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if len(f.Action) > 0 {
		q["action"] = f.Action
	}
	return q, nil
}

type listAudit struct {
	Connection
	output
	auditFilter
	Limit int `help:"At most so many." default:"50"`
}

// auditEntry is what the list shows of an entry.
type auditEntry struct {
	Seq       int64  `json:"seq"`
	At        string `json:"at"`
	Action    string `json:"action"`
	Principal string `json:"principal"`
	Agent     string `json:"agent"`
	ReviewID  string `json:"review_id"`
	Decision  string `json:"decision"`
	Body      struct {
		Actor struct {
			Kind string `json:"kind"`
		} `json:"actor"`
		Tool   string          `json:"tool"`
		Detail json.RawMessage `json:"detail"`
	} `json:"body"`
}

// by is who did it.
func (e *auditEntry) by() string {
	switch {
	case e.Principal != "":
		return oneLine(e.Principal)
	case e.Body.Actor.Kind == "agent" && e.Agent != "":
		return oneLine(e.Agent)
	case e.Body.Actor.Kind == "anonymous":
		return "anonymous"
	}
	return "the system"
}

// about is what it was done to: a review, or else a tool, its review policy or a key.
func (e *auditEntry) about() string {
	if e.ReviewID != "" {
		return e.ReviewID
	}
	if e.Action == "policy.changed" && e.Agent != "" {
		return oneLine(e.Agent + "/" + e.Body.Tool)
	}
	if e.Body.Tool != "" {
		return oneLine(e.Body.Tool)
	}
	var key struct {
		Name string `json:"name"`
		ID   string `json:"id"`
	}
	if strings.HasPrefix(e.Action, "key.") && json.Unmarshal(e.Body.Detail, &key) == nil && key.ID != "" {
		return "key " + oneLine(key.ID) + " of " + oneLine(or(key.Name, key.ID))
	}
	return "-"
}

// Run implements the command.
func (cmd *listAudit) Run(s *Streams) error {
	c := cmd.client()
	query, err := cmd.query()
	if err != nil {
		return err
	}
	all := []json.RawMessage{}
	for {
		query.Set("limit", strconv.Itoa(min(cmd.Limit-len(all), 200)))
		var page struct {
			Entries []json.RawMessage `json:"entries"`
			Next    string            `json:"next_cursor"`
		}
		if err := c.call(context.Background(), http.MethodGet, c.project("audit"), query, nil, &page); err != nil {
			return coded(err)
		}
		all = append(all, page.Entries...)
		if page.Next == "" || len(all) >= cmd.Limit {
			break
		}
		query.Set("cursor", page.Next)
	}
	if cmd.JSON {
		b, err := json.Marshal(all)
		if err != nil {
			return err
		}
		return writeIndented(s.Out, b)
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SEQ\tAT\tACTION\tBY\tABOUT\tDECISION") // Flush has the error
	for _, raw := range all {
		var e auditEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", e.Seq, e.At, e.Action, e.by(), e.about(), or(oneLine(e.Decision), "-"))
	}
	return w.Flush()
}

type exportAudit struct {
	Connection
	auditFilter
	Format string `help:"jsonl or csv." enum:"jsonl,csv" default:"jsonl"`
}

// Run implements the command.
func (cmd *exportAudit) Run(s *Streams) error {
	c := cmd.client()
	query, err := cmd.query()
	if err != nil {
		return err
	}
	query.Set("format", cmd.Format)
	resp, err := c.send(context.Background(), http.MethodGet, c.project("audit", "export"), query, nil)
	if err != nil {
		return coded(err)
	}
	if s.terminal() { // elsewhere it is to the byte
		shown := &printableWriter{w: s.Out}
		_, err = io.Copy(shown, resp.Body)
		return errors.Join(err, shown.Close(), resp.Body.Close())
	}
	_, err = io.Copy(s.Out, resp.Body) // an export that is cut off ends with an error
	return errors.Join(err, resp.Body.Close())
}

type verifyAudit struct {
	Connection
	output
	Seq  int64  `help:"Number of an entry that was seen before: it must still stand." and:"seen"`
	Seal string `help:"The seal that it had." and:"seen"`
}

// Run implements the command.
func (cmd *verifyAudit) Run(s *Streams) error {
	query := url.Values{}
	if cmd.Seq != 0 || cmd.Seal != "" {
		query = url.Values{"seq": {strconv.FormatInt(cmd.Seq, 10)}, "seal": {cmd.Seal}}
	}
	c := cmd.client()
	var raw json.RawMessage
	if err := c.call(context.Background(), http.MethodGet, c.project("audit", "verify"), query, nil, &raw); err != nil {
		return coded(err)
	}
	var found struct {
		Valid   bool  `json:"valid"`
		Entries int64 `json:"entries"`
		Threads int   `json:"threads"`
		Last    *struct {
			Seq  int64  `json:"seq"`
			Seal string `json:"seal"`
		} `json:"last"`
		Problem *struct {
			Detail string `json:"detail"`
		} `json:"problem"`
	}
	if err := json.Unmarshal(raw, &found); err != nil {
		return err
	}
	if cmd.JSON {
		if err := writeIndented(s.Out, raw); err != nil {
			return err
		}
	}
	if !found.Valid {
		detail := "it doesn't verify"
		if found.Problem != nil {
			detail = found.Problem.Detail
		}
		return fmt.Errorf("audit log: %s", printable(detail))
	}
	if cmd.JSON {
		return nil
	}
	text := fmt.Sprintf("The audit log is whole: %d entries of %d threads.\n", found.Entries, found.Threads)
	if found.Last != nil {
		text += fmt.Sprintf("Keep this, to check later that nothing was taken away: --seq %d --seal %s\n", found.Last.Seq, found.Last.Seal)
	}
	_, err := io.WriteString(s.Out, text)
	return err
}
