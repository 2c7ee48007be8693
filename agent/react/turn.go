package react

import (
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// turnKey is the sealed channel with what the turn has taken so far: no caller can set
// it back, and it survives a summary of the messages that it counts.
const turnKey = "react:turn"

// turn is what a turn has taken so far.
type turn struct {
	// Human is the id of the message that the turn answers.
	Human  string  `json:"human"`
	Calls  int     `json:"calls"`
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost"`
	// RunID is the newest run of the turn; it began at Since and was last seen at Seen. Before are
	// the earlier ones. All in milliseconds.
	RunID  string `json:"run_id"`
	Since  int64  `json:"since"`
	Seen   int64  `json:"seen"`
	Before int64  `json:"before"`
}

func (t *turn) elapsed() time.Duration {
	return time.Duration(t.Before+t.Seen-t.Since) * time.Millisecond
}

// openTurn reads what the turn has taken; nil where nothing is limited.
func (l *loop[S]) openTurn(ctx agent.Context, conversation message.List) (*turn, error) {
	if !l.o.Limits.some() {
		return nil, nil
	}
	held, err := agent.ReadSealed[struct {
		Turn turn `json:"turn"`
	}](ctx, turnKey)
	if err != nil {
		return nil, err
	}
	t := held.Turn
	if human, known := turnOf(conversation); known && human != t.Human {
		t = turn{Human: human}
	}
	if t.RunID != ctx.RunID() {
		t.Before += t.Seen - t.Since
		t.RunID, t.Since = ctx.RunID(), agent.RunBegan(ctx).UnixMilli()
	}
	t.Seen = ctx.Now().UnixMilli()
	return &t, nil
}

// turnOf is the id of the human message that the agent answers; not known where that was summed up.
func turnOf(conversation message.List) (id string, known bool) {
	for _, m := range conversation.Backward() {
		if m.Type == message.Human {
			return m.ID, !isSummary(m)
		}
	}
	return "", true
}

// spending gathers what the model calls of a node take.
type spending struct {
	limits        Limits
	calls, tokens int
	cost          float64
}

// add counts one call.
func (s *spending) add(used model.Model, req model.Request, answer message.Message) {
	if !s.limits.some() {
		return
	}
	u := answer.UsageMetadata
	if u == nil || u.InputTokens+u.OutputTokens == 0 {
		u = &message.Usage{InputTokens: (len(req.System) + len(req.Messages.AppendJSON(nil))) / bytesPerToken, OutputTokens: len(answer.AppendJSON(nil)) / bytesPerToken}
	}
	input, output := max(0, u.InputTokens), max(0, u.OutputTokens)
	s.calls++
	s.tokens += input + output
	p := s.limits.Prices[used.Info().Name]
	var details struct {
		CacheRead int `json:"cache_read"`
	}
	if p.CachedInput > 0 && json.Unmarshal(u.InputTokenDetails, &details) == nil {
		cached := min(max(0, details.CacheRead), input)
		input -= cached
		s.cost += float64(cached) * p.CachedInput / 1e6
	}
	s.cost += (float64(input)*p.Input + float64(output)*p.Output) / 1e6
}

// bytesPerToken is about right for texts in English.
const bytesPerToken = 4

// add counts what a node took; the entry for the sealed channel.
func (t *turn) add(ctx agent.Context, spent spending) *turn {
	t.Calls += spent.calls
	t.Tokens += spent.tokens
	t.Cost += spent.cost
	t.Seen = ctx.Now().UnixMilli()
	return t
}
