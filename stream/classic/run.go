package classic

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/parley-dev/parley/agent"
)

// runInfo is what frames repeat of the run, as JSON made once.
type runInfo struct {
	// metadata is the run's metadata with run_id, without thread_id.
	metadata object
	// taskMetadata is metadata as JSON.
	taskMetadata []byte
	// configurable is the public configurable with the run's ids.
	configurable object
	limit        int
	tags         []string
}

func (p *Projection) runStarted(start agent.RunStart) {
	if start.Unbegun {
		p.unbegun = true
		return
	}
	p.describe(start)
	p.open = map[string]*streamed{}
	if start.FrameBase > p.next {
		p.next = start.FrameBase // a dead worker may have delivered numbers up to here (decisions 2)
		if !p.started {
			p.next-- // what was lost with its beginning must not move the numbers that follow
		}
	}
	if p.started {
		return // recovery: no second metadata (decisions 7)
	}
	p.started = true
	if p.begin(always, "metadata", "", 80) {
		p.buf = append(p.buf, `{"run_id":`...)
		p.buf = appendString(p.buf, p.runID)
		p.buf = append(p.buf, `,"attempt":`...)
		p.buf = strconv.AppendInt(p.buf, int64(max(start.Attempt, 1)), 10)
		p.buf = append(p.buf, '}')
		p.end()
	}
	p.chain("on_chain_start", p.rootChain(), "input", start.Input)
}

// describe prepares what frames repeat of the run.
func (p *Projection) describe(start agent.RunStart) {
	if start.GraphID != "" {
		p.graphID = start.GraphID
	}
	if start.AssistantID != "" {
		p.assistantID = start.AssistantID
	}
	info := runInfo{limit: start.RecursionLimit, tags: start.Tags}
	info.metadata.setAll(start.Metadata)
	info.metadata.setDefault("graph_id", quoted(p.graphID))
	info.metadata.setDefault("assistant_id", quoted(p.assistantID))
	info.metadata.setDefault("run_attempt", json.RawMessage("1"))
	info.metadata.drop("thread_id")
	info.metadata.drop("run_id")
	info.metadata.set("run_id", quoted(p.runID))
	info.taskMetadata = info.metadata.append(nil)

	info.configurable.set("checkpoint_ns", json.RawMessage(`""`))
	info.configurable.setAll(start.Configurable)
	for _, key := range append([]string(nil), info.configurable.keys...) {
		if strings.HasPrefix(key, "__") {
			info.configurable.drop(key)
		}
	}
	info.configurable.set("run_id", quoted(p.runID))
	info.configurable.set("thread_id", quoted(p.threadID))
	info.configurable.set("graph_id", quoted(p.graphID))
	info.configurable.set("assistant_id", quoted(p.assistantID))
	if info.limit == 0 {
		info.limit = 25
	}
	p.info = info
}

func (p *Projection) runFinished(finish agent.RunFinish) {
	p.finished = true
	if p.unbegun {
		return // as those see it who wait while it is dropped: a stream without events
	}
	failure := finish.Error
	switch {
	case finish.Status == "error" && failure == nil:
		failure = &agent.ErrorInfo{Name: "Error", Message: "The run failed."}
	case finish.Cancel == "rollback" && finish.Status != "success":
		failure = &agent.ErrorInfo{Name: "Error", Message: "rollback"}
	case finish.Status != "error":
		failure = nil
	}
	if failure == nil {
		if finish.Status == "success" {
			p.chain("on_chain_end", p.rootChain(), "output", nil)
		}
		return
	}
	if p.begin(always, "error", "", len(failure.Message)+len(failure.Name)+32) {
		p.buf = AppendError(p.buf, failure.Name, failure.Message)
		p.end()
	}
}

// AppendError appends the data of an error event (spec/rest-api.md 4.7).
func AppendError(dst []byte, name, message string) []byte {
	dst = append(dst, `{"error":`...)
	dst = appendString(dst, name)
	dst = append(dst, `,"message":`...)
	dst = appendString(dst, message)
	return append(dst, '}')
}
