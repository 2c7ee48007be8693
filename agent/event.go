package agent

import (
	"encoding/json"

	"github.com/parley-dev/parley/agent/message"
)

// Kind names what an Event reports.
type Kind string

// The kinds of events. A kind says at most one thing in the thread protocol
// (v2) and any number of things in the classic stream modes. Kinds for which
// Numbered is false are not shown by v2 and take no seq (decisions 1).
const (
	// RunStarted opens a run (also after a recovery, with Attempt > 1). Payload: RunStart.
	RunStarted Kind = "run.started"
	// RunFinished closes a run; nothing of the run follows. Payload: RunFinish.
	RunFinished Kind = "run.finished"
	// InputAnswered tells which interrupts the resumed run answers. Payload: Answered.
	InputAnswered Kind = "input.answered"
	// CheckpointAnnounced precedes ValuesEmitted (v2 only). Payload: CheckpointNote.
	CheckpointAnnounced Kind = "checkpoint.announced"
	// ValuesEmitted carries the whole state of a graph. Payload: *ValuesNote.
	ValuesEmitted Kind = "values"
	// CheckpointSaved follows ValuesEmitted with all detail (classic only). Payload: *CheckpointDetail.
	CheckpointSaved Kind = "checkpoint.saved"
	// TaskStarted and TaskFinished frame a task of a superstep. Payloads: TaskStart, TaskFinish.
	TaskStarted  Kind = "task.started"
	TaskFinished Kind = "task.finished"
	// UpdatesEmitted carries what one finished task returned. Payload: UpdatesNote.
	UpdatesEmitted Kind = "updates"
	// NamespaceStarted and NamespaceFinished frame whatever a task or nested graph says (v2 only). Payload: NamespaceNote.
	NamespaceStarted  Kind = "namespace.started"
	NamespaceFinished Kind = "namespace.finished"
	// InterruptRaised is one question, on the namespace of the graph that asks. Payload: InterruptInfo.
	InterruptRaised Kind = "interrupt"
	// InterruptBubbled repeats a nested question at each enclosing graph (classic only). Payload: InterruptInfo.
	InterruptBubbled Kind = "interrupt.bubbled"
	// BreakpointHit reports a static breakpoint (classic only). Payload: nil.
	BreakpointHit Kind = "breakpoint"
	// CustomWritten is a value that a node wrote to the custom stream. Payload: Custom.
	CustomWritten Kind = "custom"
	// MessageStarted opens a message. Payload: MessageStart. For one that a model
	// streams (Streamed), the Deltas are what classic readers see; for one that
	// a node returned whole, MessageWhole is.
	MessageStarted Kind = "message.started"
	// BlockStarted, BlockDelta, BlockFinished build the content of a message. Payloads: BlockStart, Delta, BlockFinish.
	BlockStarted  Kind = "block.started"
	BlockDelta    Kind = "block.delta"
	BlockFinished Kind = "block.finished"
	// MessageFinished closes a message. Payload: MessageFinish.
	MessageFinished Kind = "message.finished"
	// MessageFailed ends a message whose model call failed for good. Payload: MessageError.
	MessageFailed Kind = "message.failed"
	// MessageReset precedes a second attempt of a model call, which keeps the id
	// of the message (decisions 7; classic only: v2 sends the next MessageStarted). Payload: MessageRef.
	MessageReset Kind = "message.reset"
	// MessageWhole is a message that a node returned without streaming it (classic only). Payload: MessageSnapshot.
	MessageWhole Kind = "message.whole"
	// ToolStarted, ToolOutput, ToolFinished, ToolFailed report a tool call. Payload: ToolNote.
	ToolStarted  Kind = "tool.started"
	ToolOutput   Kind = "tool.output"
	ToolFinished Kind = "tool.finished"
	ToolFailed   Kind = "tool.failed"
)

// Numbered reports whether the thread protocol shows events of this kind, so
// that they take a seq.
func (k Kind) Numbered() bool {
	switch k {
	case CheckpointSaved, InterruptBubbled, BreakpointHit, MessageReset, MessageWhole:
		return false
	}
	return true
}

// Ephemeral reports whether an event of this kind may reach readers before it
// is stored (decisions 2). All others are stored by the transition they report.
func (k Kind) Ephemeral() bool {
	switch k {
	case MessageStarted, BlockStarted, BlockDelta, BlockFinished, MessageFinished, MessageFailed,
		MessageReset, MessageWhole, CustomWritten, ToolStarted, ToolOutput, ToolFinished, ToolFailed, NamespaceStarted, TaskStarted:
		return true
	}
	return false
}

// Event is one thing that happened in a run: the only output of the runtime
// beside its commits. Events are immutable once emitted.
type Event struct {
	Kind Kind
	// At is the time of the event in milliseconds since the epoch.
	At int64
	// NS is the namespace of the graph (graph-level kinds) or of the task
	// (messages, tools, namespace notes) joined by "|"; "" is the root.
	NS string
	// Payload is the struct that the kind names; nil where it names none.
	Payload any
}

// RunStart is the payload of RunStarted.
type RunStart struct {
	GraphID     string `json:"graph_id"`
	AssistantID string `json:"assistant_id"`
	// Attempt counts from 1. Above 1 the worker before this one died: readers
	// get no second "metadata" and no second "running" (decisions 7).
	Attempt int `json:"attempt"`
	// FrameBase, when above 0, is the number that the run's next classic frame
	// takes, behind those that a dead worker may have delivered (decisions 2).
	FrameBase int64 `json:"frame_base,omitempty"`
	// Metadata is the run's metadata as streamed with tasks and messages.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	// Configurable is the public part of config.configurable.
	Configurable   map[string]json.RawMessage `json:"configurable,omitempty"`
	RecursionLimit int                        `json:"recursion_limit,omitempty"`
	Tags           []string                   `json:"tags,omitempty"`
	// Input is the raw input, for the "events" mode. May be null.
	Input json.RawMessage `json:"input,omitempty"`
	// Unbegun is set when the run was dropped before it began: only its end
	// follows. Who reads the run alone is shown neither.
	Unbegun bool `json:"unbegun,omitempty"`
}

// RunFinish is the payload of RunFinished.
type RunFinish struct {
	GraphID string `json:"graph_id"`
	// Status is success, error or interrupted (cancelled).
	Status string `json:"status"`
	// Suspended is set when the run stopped at an interrupt.
	Suspended bool `json:"suspended,omitempty"`
	// Cancel is the cancel action (interrupt or rollback) of a cancelled run.
	Cancel string `json:"cancel,omitempty"`
	// Error is set when Status is error.
	Error *ErrorInfo `json:"error,omitempty"`
}

// Answered is the payload of InputAnswered.
type Answered struct {
	InterruptIDs []string `json:"interrupt_ids"`
}

// CheckpointNote is the payload of CheckpointAnnounced.
type CheckpointNote struct {
	ID       string `json:"id"`
	ParentID string `json:"parent_id,omitempty"`
	Step     int    `json:"step"`
	Source   string `json:"source"`
}

// ValuesNote is the payload of ValuesEmitted. Live it holds the state itself; in
// the log either a reference to the checkpoint with exactly this state, or, where
// no checkpoint has it (pending writes applied), the state inline.
type ValuesNote struct {
	// CheckpointID and the event's NS name the checkpoint; "" when Inline holds the state.
	CheckpointID string `json:"checkpoint_id,omitempty"`
	// Inline is the state as a JSON object.
	Inline json.RawMessage `json:"inline,omitempty"`
	// State is the state in memory; never stored. Nil after reading from the log.
	State *State `json:"-"`
}

// CheckpointDetail is the payload of CheckpointSaved: the frames "checkpoints" and "debug".
type CheckpointDetail struct {
	CheckpointID string                     `json:"checkpoint_id"`
	ParentID     string                     `json:"parent_id,omitempty"`
	Map          map[string]string          `json:"checkpoint_map,omitempty"`
	ParentMap    map[string]string          `json:"parent_map,omitempty"`
	Metadata     map[string]json.RawMessage `json:"metadata"`
	Step         int                        `json:"step"`
	Next         []string                   `json:"next"`
	Tasks        []TaskView                 `json:"tasks"`
	// State is the state in memory; read from the checkpoint when replayed.
	State *State `json:"-"`
	// Inline stands where the checkpoint as stored does not have this state.
	Inline json.RawMessage `json:"inline,omitempty"`
}

// TaskStart is the payload of TaskStarted; the event's NS is the graph's.
type TaskStart struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Step  int             `json:"step"`
	Input json.RawMessage `json:"input,omitempty"`
	// CheckpointID, when set, names the checkpoint of the event's NS whose state
	// is the input; then Input is empty, so that an entry doesn't grow with the
	// state, and live State holds it.
	CheckpointID string   `json:"checkpoint_id,omitempty"`
	State        *State   `json:"-"`
	Triggers     []string `json:"triggers"`
	// Interrupts are those the task raised before and that still wait.
	Interrupts []InterruptInfo `json:"interrupts"`
}

// InputJSON is the input as far as the payload holds it: nil when it is only
// named by CheckpointID, as in the log.
func (t TaskStart) InputJSON() json.RawMessage {
	if t.State != nil {
		return t.State.JSON()
	}
	return t.Input
}

// TaskFinish is the payload of TaskFinished.
type TaskFinish struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Step       int             `json:"step"`
	Result     json.RawMessage `json:"result"` // object of writes; {} when there are none
	Interrupts []InterruptInfo `json:"interrupts"`
	Error      *ErrorInfo      `json:"error,omitempty"`
}

// UpdatesNote is the payload of UpdatesEmitted.
type UpdatesNote struct {
	Node string `json:"node"`
	// Data is the node's delta: an object, or a list of objects when it wrote one key more than once.
	Data json.RawMessage `json:"data"`
	// Cached is set for a result reused on resume or from the node cache.
	Cached bool `json:"cached,omitempty"`
}

// NamespaceNote is the payload of NamespaceStarted and NamespaceFinished.
type NamespaceNote struct {
	Name string `json:"name"` // node name, or the agent's where a tool call started one
	// Failed is set on a NamespaceFinished of a task that raised or was cancelled.
	Failed bool `json:"failed,omitempty"`
	// ToolCallID is set when the namespace belongs to a named agent called as a tool.
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// Custom is the payload of CustomWritten.
type Custom struct {
	Value json.RawMessage `json:"value"`
}

// MessageMeta describes the task and model behind a message; streamed as the
// second half of a classic "messages" frame.
type MessageMeta struct {
	Node     string          `json:"node"`
	Step     int             `json:"step"`
	Triggers []string        `json:"triggers"`
	Path     json.RawMessage `json:"path"` // as in a state's tasks[].path
	// CheckpointNS includes the node's own segment.
	CheckpointNS string   `json:"checkpoint_ns"`
	Tags         []string `json:"tags,omitempty"`
	// Extra holds further keys (ls_provider, ls_model_name, …).
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// MessageStart is the payload of MessageStarted.
type MessageStart struct {
	ID string `json:"id"`
	// CallID identifies the model call (v2 "run_id" of message events).
	CallID string `json:"call_id"`
	Type   string `json:"type"` // ai unless said otherwise
	Name   string `json:"name,omitempty"`
	// Streamed: classic readers see the Deltas. Otherwise they see MessageWhole.
	Streamed bool        `json:"streamed"`
	Meta     MessageMeta `json:"meta"`
	// Chunk0 carries fields of the first chunk beside content (additional_kwargs, response_metadata), if any.
	AdditionalKwargs json.RawMessage `json:"additional_kwargs,omitempty"`
	ResponseMetadata json.RawMessage `json:"response_metadata,omitempty"`
	// Input is the prompt of the model call as a list of messages, for the "events" mode; may be absent.
	Input json.RawMessage `json:"input,omitempty"`
}

// BlockStart is the payload of BlockStarted.
type BlockStart struct {
	ID    string `json:"id"` // message id
	Index int    `json:"index"`
	// Block is the initial content block: {"type":"text","text":""}, {"type":"reasoning","reasoning":""},
	// {"type":"tool_call_chunk","id":…,"name":…,"args":"","index":…}, or a media block.
	Block json.RawMessage `json:"block"`
}

// Delta is the payload of BlockDelta: one chunk of a model's stream.
type Delta struct {
	ID    string `json:"id"` // message id
	Index int    `json:"index"`
	// Type is text, reasoning, tool_call (Text is a piece of the arguments) or data.
	Type string `json:"type"`
	Text string `json:"text"`
	// CallID and Name repeat the tool call's id and name where the model's chunk has them.
	CallID string `json:"call_id,omitempty"`
	Name   string `json:"name,omitempty"`
	// CallIndex is the index of the tool call among the message's calls.
	CallIndex int `json:"call_index,omitempty"`
}

// BlockFinish is the payload of BlockFinished.
type BlockFinish struct {
	ID    string          `json:"id"`
	Index int             `json:"index"`
	Block json.RawMessage `json:"block"` // full, final block
}

// MessageFinish is the payload of MessageFinished.
type MessageFinish struct {
	ID string `json:"id"`
	// Reason is stop, length, tool_use or content_filter; "" when the message wasn't streamed.
	Reason string         `json:"reason,omitempty"`
	Usage  *message.Usage `json:"usage,omitempty"`
	// ResponseMetadata of the last chunk, if any.
	ResponseMetadata json.RawMessage `json:"response_metadata,omitempty"`
	// Message is the finished message, for the "messages" and "events" modes.
	Message json.RawMessage `json:"message,omitempty"`
}

// MessageError is the payload of MessageFailed.
type MessageError struct {
	ID      string `json:"id"`
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
}

// MessageRef is the payload of MessageReset.
type MessageRef struct {
	ID   string      `json:"id"`
	Meta MessageMeta `json:"meta"`
}

// MessageSnapshot is the payload of MessageWhole.
type MessageSnapshot struct {
	Message json.RawMessage `json:"message"`
	Meta    MessageMeta     `json:"meta"`
}

// ToolNote is the payload of the tool kinds.
type ToolNote struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	// Input (ToolStarted): the arguments as JSON text. Delta (ToolOutput): a JSON value.
	// Output (ToolFinished): a tool message. Error (ToolFailed): plain text.
	Input  string          `json:"input,omitempty"`
	Delta  json.RawMessage `json:"delta,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// ErrorInfo is an error as clients see it.
type ErrorInfo struct {
	// Name is the error's class, "Error" when it has none.
	Name    string `json:"name"`
	Message string `json:"message"`
}
