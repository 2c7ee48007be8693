package classic

import (
	"encoding/json"
	"strconv"

	"github.com/parley-dev/parley/agent"
)

// chain names the graph or task behind a callback event.
type chain struct {
	name, id string
	tags     []string
	metadata object
}

// rootChain is the run itself. Callback events of mode "events" never get a
// suffix and come from every graph (spec/rest-api.md 4.5).
func (p *Projection) rootChain() chain {
	if !p.modes.has(Events) {
		return chain{}
	}
	return chain{name: p.graphID, id: p.runID, tags: p.info.tags, metadata: p.graphMetadata("")}
}

func (p *Projection) taskChain(ns, id, name string, step int) chain {
	if !p.modes.has(Events) {
		return chain{}
	}
	c := chain{name: name, id: id, tags: []string{"graph:step:" + strconv.Itoa(step)}, metadata: p.graphMetadata("")}
	c.metadata.set("langgraph_step", strconv.AppendInt(nil, int64(step), 10))
	c.metadata.set("langgraph_node", quoted(name))
	task := quoted(joinNS(ns, name, id))
	c.metadata.set("langgraph_checkpoint_ns", task)
	c.metadata.set("checkpoint_ns", task)
	return c
}

// chain sends the start or end of the run or a task.
func (p *Projection) chain(event string, c chain, key string, value json.RawMessage) {
	if p.modes.has(Events) && p.begin(Events, "events", "", len(value)+512) {
		p.buf = appendCallback(p.buf, event, c.name, c.id, c.tags, c.metadata.append(nil))
		p.buf = appendField(p.buf, key, value)
		p.buf = append(p.buf, `}}`...)
		p.end()
	}
}

// appendCallback appends a callback event up to the content of its data.
func appendCallback(dst []byte, event, name, id string, tags []string, metadata []byte) []byte {
	dst = append(dst, `{"event":"`...)
	dst = append(dst, event...)
	dst = append(dst, `","name":`...)
	dst = appendString(dst, name)
	dst = append(dst, `,"run_id":`...)
	dst = appendString(dst, id)
	dst = append(dst, `,"tags":`...)
	dst = appendStrings(dst, tags)
	dst = append(dst, `,"metadata":`...)
	dst = append(dst, metadata...)
	return append(dst, `,"data":{`...)
}

// appendField appends a field whose value may be absent.
func appendField(dst []byte, key string, value json.RawMessage) []byte {
	if absent(value) {
		return dst
	}
	dst = append(dst, '"')
	dst = append(dst, key...)
	dst = append(dst, `":`...)
	return append(dst, value...)
}

// modelName is the name of a model's callback events.
func (m *streamed) modelName() string {
	var name string
	if json.Unmarshal(m.start.Meta.Extra["ls_model_name"], &name) == nil && name != "" {
		return name
	}
	if json.Unmarshal(m.start.Meta.Extra["ls_provider"], &name) == nil && name != "" {
		return name
	}
	return "model"
}

func (p *Projection) model(m *streamed, event string, size int, data func(dst []byte) []byte) {
	if p.modes.has(Events) && p.begin(Events, "events", "", size+len(m.metadata)+256) {
		p.buf = appendCallback(p.buf, event, m.modelName(), m.start.CallID, m.start.Meta.Tags, m.metadata)
		p.buf = append(data(p.buf), `}}`...)
		p.end()
	}
}

func (p *Projection) modelStarted(m *streamed) {
	p.model(m, "on_chat_model_start", len(m.start.Input), func(dst []byte) []byte {
		if absent(m.start.Input) {
			return dst
		}
		dst = append(dst, `"input":{"messages":[`...)
		return append(append(dst, m.start.Input...), `]}`...)
	})
}

func (p *Projection) modelStreamed(m *streamed, c chunk) {
	p.model(m, "on_chat_model_stream", len(c.text)+len(c.block)+len(m.afterText), func(dst []byte) []byte {
		return m.appendChunk(append(dst, `"chunk":`...), c)
	})
}

func (p *Projection) modelFinished(m *streamed, f agent.MessageFinish) {
	p.model(m, "on_chat_model_end", len(f.Message), func(dst []byte) []byte {
		return appendField(dst, "output", f.Message)
	})
}
