package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	sdk "github.com/sashabaranov/go-openai" // base URLs, request types, SSE: small, no dependencies of its own

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/internal/wire"
)

// stream makes one call and yields what comes.
func (m *Model) stream(ctx context.Context, req model.Request, yield func(message.Chunk, error) bool) error {
	body, err := m.request(req)
	if err != nil {
		return err
	}
	key, err := m.options.Key.Read()
	if err != nil {
		return &model.Error{Provider: m.options.Provider, Message: err.Error(), Err: model.ErrNoKey}
	}
	ctx, call := wire.Begin(ctx, m.wire, key)
	defer call.End()

	config := sdk.DefaultConfig(key)
	config.BaseURL, config.OrgID = m.options.BaseURL, m.options.Organization
	sent := &exchange{call: call, patches: body.patches, extra: m.options.Extra}
	config.HTTPClient = sent
	answer, err := sdk.NewClientWithConfig(config).CreateChatCompletionStream(ctx, body.ChatCompletionRequest)
	if err != nil {
		return call.Fail(err)
	}
	defer answer.Close() //nolint:errcheck // nothing to be done about it

	r := &reader{provider: m.options.Provider, names: body.names}
	for {
		line, err := answer.RecvRaw()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return call.Fail(err)
		}
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			return call.Fail(wire.Broken("not a chunk: %v", err))
		}
		if chunk, some := r.read(&f); some {
			call.Started()
			if !yield(chunk, nil) {
				return nil
			}
		}
	}
	last, err := r.finish(sent.done())
	if err != nil {
		return call.Fail(err)
	}
	yield(last, nil)
	return nil
}
