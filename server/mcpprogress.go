package server

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// progressEvery is the pause between two progress notifications: hosts show them to
// people, who read no faster.
const progressEvery = 250 * time.Millisecond

// progressBatch is how many events are read at once.
const progressBatch = 500

// tellProgress reports what a run says until ctx ends, if the call asked for it: the new
// text of the agent's messages, and the tools that it calls.
func (s *Server) tellProgress(ctx context.Context, c *mcpCall, run thread.Run) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return
	}
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	p := progress{roots: map[string]bool{}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		entries, err := s.svc.Store().ReadRunLog(ctx, run.ThreadID, run.ID, p.after, progressBatch)
		if err != nil {
			return // the run's end tells the rest
		}
		if text := p.read(entries); text != "" {
			err := c.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: p.size, Message: text})
			if err != nil {
				s.log.Debug("progress not delivered", "error", err)
				return
			}
		}
	}
}

// progress is what was told of a run.
type progress struct {
	after int64
	size  float64 // characters told; it only grows, as the protocol wants
	roots map[string]bool
}

// read is the text of further events.
func (p *progress) read(entries []thread.Entry) string {
	text := ""
	for _, e := range entries {
		p.after = e.Pos
		switch v := e.Event.Payload.(type) {
		case agent.Delta:
			if v.Type == "text" {
				text += v.Text
			}
		case agent.ToolNote:
			if e.Event.Kind == agent.ToolStarted {
				text += "[" + v.Name + "]"
			}
		}
	}
	p.size += float64(len(text))
	return text
}
