package anthropic

import (
	"context"
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go/v2" // the official one: request types and stream; no init work to speak of
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/internal/wire"
)

// samplingVersion is the last version of the API with temperature and top_p.
const samplingVersion = "2023-06-01"

// stream makes one call and yields what comes.
func (m *Model) stream(ctx context.Context, req model.Request, yield func(message.Chunk, error) bool) error {
	body, err := m.request(req)
	if err != nil {
		return err
	}
	key, err := m.options.Key.Read()
	if err != nil {
		return &model.Error{Provider: provider, Message: err.Error(), Err: model.ErrNoKey}
	}
	ctx, call := wire.Begin(ctx, m.wire, key)
	defer call.End()

	service := sdk.NewMessageService(m.sdkOptions(call, key)...)
	answer := service.NewStreaming(ctx, body.MessageNewParams)
	defer answer.Close() //nolint:errcheck // nothing to be done about it

	r := &reader{names: body.names}
	for answer.Next() {
		event := answer.Current()
		chunk, some, err := r.read(&event)
		if err != nil {
			return call.Fail(err)
		}
		if r.began {
			call.Started()
		}
		if some && !yield(chunk, nil) {
			return nil
		}
		if r.ended {
			break
		}
	}
	if err := answer.Err(); err != nil {
		return call.Fail(told(err))
	}
	last, err := r.finish()
	if err != nil {
		return call.Fail(err)
	}
	yield(last, nil)
	return nil
}

// told makes an error that came within the stream readable.
func told(err error) error {
	var own *sdk.Error
	if errors.As(err, &own) {
		e := wire.InStream([]byte(own.RawJSON()))
		if e.RequestID == "" {
			e.RequestID = own.RequestID
		}
		return e
	}
	return err
}

// sdkOptions make the SDK do one request over the call and nothing by itself:
// no environment, no retries, no traces.
func (m *Model) sdkOptions(call *wire.Call, key string) []option.RequestOption {
	o := &m.options
	all := []option.RequestOption{
		option.WithBaseURL(o.BaseURL + "/"), option.WithHTTPClient(call), option.WithMaxRetries(0), option.WithoutOpenTelemetry(),
	}
	if key != "" {
		all = append(all, option.WithAPIKey(key))
		if o.BaseURL != DefaultBaseURL {
			all = append(all, option.WithHeader("X-Api-Key", key)) // what gateways know
		}
	}
	if o.Temperature != nil || o.TopP != nil {
		all = append(all, option.WithHeader("Anthropic-Version", samplingVersion))
	}
	for name, value := range o.Extra {
		all = append(all, option.WithJSONSet(name, value))
	}
	return all
}
