package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent/message"
)

// Start and End are the entry and exit of every graph.
const (
	Start = "__start__"
	End   = "__end__"
)

// Agent is something that runs can be created for: a name and a graph, which a
// factory may build per configuration.
type Agent interface {
	// Name is the graph id.
	Name() string
	// Graph returns the compiled graph for a configuration. It is called for each run and state read.
	Graph(ctx context.Context, cfg Config) (*Graph, error)
}

// Factory is an Agent whose graph depends on the configuration.
type Factory struct {
	ID    string
	Build func(ctx context.Context, cfg Config) (*Graph, error)
}

// Name implements Agent.
func (f Factory) Name() string { return f.ID }

// Graph implements Agent.
func (f Factory) Graph(ctx context.Context, cfg Config) (*Graph, error) { return f.Build(ctx, cfg) }

// Builder builds a graph over the state type S, a struct: each field with a
// json tag is a channel. A message.List field uses the add-messages reducer; the
// tag agent:"append" makes a slice field a list-concat reducer with default [],
// agent:"append,nodefault" one without; agent:"default=<JSON>" gives a default;
// agent:"untracked", "ephemeral", "any", "topic", "topic,accumulate", "topic,unique" choose the other channel kinds; a plain
// field is LastValue; agent:"-input", "-output" leave the key out of the input or output schema; "private" out of both.
type Builder[S any] struct{ g *Graph }

// NewGraph starts a graph named name.
func NewGraph[S any](name string, opts ...GraphOption) *Builder[S] { panic("unimplemented") }

// GraphOption configures a graph: ContextType, Reducer, InterruptBefore, InterruptAfter, Stateful, DefaultRetry, StepTimeout, Strict.
type GraphOption func(*Graph)

// NodeOption configures a node: Retry, Timeout, Cache, Defer, Ends, Tags, OnError, NodeMetadata.
type NodeOption func(*node)

// Node adds a node that gets the state.
func (b *Builder[S]) Node(name string, fn func(ctx Context, s S) (Update, error), opts ...NodeOption) *Builder[S] {
	panic("unimplemented")
}

// NodeOf adds a node that is reached by Send and gets the Send's input, decoded as In.
func NodeOf[In, S any](b *Builder[S], name string, fn func(ctx Context, in In) (Update, error), opts ...NodeOption) *Builder[S] {
	panic("unimplemented")
}

// Subgraph adds a compiled graph as a node; it shares the state keys of equal name.
func (b *Builder[S]) Subgraph(name string, child *Graph, opts ...NodeOption) *Builder[S] {
	panic("unimplemented")
}

// Edge leads from one node (or Start) to the next (or End).
func (b *Builder[S]) Edge(from, to string) *Builder[S] { panic("unimplemented") }

// Join leads to a node once all of the others have run.
func (b *Builder[S]) Join(from []string, to string) *Builder[S] { panic("unimplemented") }

// Branch leads from a node (or Start) to the node that choose names. Targets lists the possible ones, for checks and drawing.
func (b *Builder[S]) Branch(from string, choose func(s S) string, targets ...string) *Builder[S] {
	panic("unimplemented")
}

// BranchTo is Branch for several targets and Sends.
func (b *Builder[S]) BranchTo(from string, choose func(ctx Context, s S) ([]Target, error), targets ...string) *Builder[S] {
	panic("unimplemented")
}

// Compile checks the graph.
func (b *Builder[S]) Compile() (*Graph, error) { panic("unimplemented") }

// MustCompile is Compile for graphs known to be right; it panics otherwise.
func (b *Builder[S]) MustCompile() *Graph {
	g, err := b.Compile()
	if err != nil {
		panic(err)
	}
	return g
}

// Name implements Agent, so that a graph can be served as it is after Compile.
func (b *Builder[S]) Name() string { panic("unimplemented") }

// Graph implements Agent.
func (b *Builder[S]) Graph(context.Context, Config) (*Graph, error) { return b.Compile() }

// Graph is a compiled graph. It is safe for concurrent use.
type Graph struct{ name string }

type node struct{}

// Name is the graph's name; a compiled graph is an Agent, too.
func (g *Graph) Name() string { return g.name }

// Graph implements Agent.
func (g *Graph) Graph(context.Context, Config) (*Graph, error) { return g, nil }

// The options of graphs and nodes.

// ContextType declares the type of the run's static context, for the schema: ContextType[T]().
func ContextType[T any]() GraphOption { panic("unimplemented") }

// Reducer gives a state key a reducer. A nil default means: the first value is stored as it is.
func Reducer[T, U any](key string, def func() T, reduce func(old T, update U) (T, error)) GraphOption {
	panic("unimplemented")
}

// InterruptBefore and InterruptAfter compile static breakpoints into the graph.
func InterruptBefore(nodes ...string) GraphOption { panic("unimplemented") }

// InterruptAfter: see InterruptBefore.
func InterruptAfter(nodes ...string) GraphOption { panic("unimplemented") }

// Stateful makes a subgraph keep its state between visits (one namespace per thread).
func Stateful() GraphOption { panic("unimplemented") }

// StepTimeout bounds each superstep.
func StepTimeout(d time.Duration) GraphOption { panic("unimplemented") }

// Strict rejects unknown keys in input and updates instead of dropping them.
func Strict() GraphOption { panic("unimplemented") }

// RetryPolicy says how often and when a failing node is run again (spec/runtime.md 1.14).
type RetryPolicy struct {
	InitialInterval time.Duration // default 500 ms
	BackoffFactor   float64       // default 2
	MaxInterval     time.Duration // default 128 s
	MaxAttempts     int           // in total; default 3
	Jitter          bool          // adds up to 1 s
	RetryOn         func(error) bool
}

// DefaultRetry gives all nodes a retry policy.
func DefaultRetry(p RetryPolicy) GraphOption { panic("unimplemented") }

// Retry gives a node a retry policy.
func Retry(p RetryPolicy) NodeOption { panic("unimplemented") }

// Timeout bounds one attempt of a node. The error is retryable.
func Timeout(d time.Duration) NodeOption { panic("unimplemented") }

// Defer makes a node wait until no other node would run.
func Defer() NodeOption { panic("unimplemented") }

// Ends declares where the node's Commands may lead.
func Ends(nodes ...string) NodeOption { panic("unimplemented") }

// Tags adds tags to the node's tasks ("langsmith:hidden", "nostream").
func Tags(tags ...string) NodeOption { panic("unimplemented") }

// Cached reuses a node's writes for equal input for ttl.
func Cached(ttl time.Duration, key func(input json.RawMessage) string) NodeOption {
	panic("unimplemented")
}

// OnError names a handler node that gets the failed node's input and error after retries are used up.
func OnError(handler string) NodeOption { panic("unimplemented") }

// Run carries out one run until it ends, suspends, fails or ctx is cancelled.
// All it does leaves through exec.Recorder. The error is for the caller's log only:
// a failure of the Recorder or Reader; failures of the graph are in the Outcome.
func (g *Graph) Run(ctx context.Context, exec Execution) (Outcome, error) { panic("unimplemented") }

// SubgraphAt returns the graph that runs in a namespace; nil when there is none.
func (g *Graph) SubgraphAt(ns string) *Graph { panic("unimplemented") }

// Context is what a node gets beside its state.
type Context interface {
	context.Context
	ThreadID() string
	RunID() string
	// TaskID, Node, Step and Namespace say which task of which superstep this is; Namespace includes the node's own segment.
	TaskID() string
	Node() string
	Step() int
	Namespace() string
	// Attempt counts the attempts of this task, from 1.
	Attempt() int
	Config() Config
	// Items is the long-term store; nil if there is none.
	Items() Items
	// Now and Sleep are the run's clock; Sleep ends early, with an error, when the run is cancelled.
	Now() time.Time
	Sleep(d time.Duration) error
	// Write sends a value to the custom stream.
	Write(value any)
	// NewID returns an id that is the same each time this task asks for the n-th one.
	NewID() string
	task() *taskContext
}

type taskContext struct{}

// ContextOf decodes the run's static context.
func ContextOf[T any](ctx Context) (T, error) { panic("unimplemented") }

// InterruptOption configures Interrupt: Named, ResponseSchema.
type InterruptOption func(*interruptOptions)

type interruptOptions struct{}

// Interrupt asks a person and suspends the run until the answer is there; then
// the node runs again from its start and Interrupt returns the answer. The error
// says that the task is suspended: return it. A suspension can't be swallowed: whatever the node returns
// after it is thrown away.
func Interrupt[T any](ctx Context, value any, opts ...InterruptOption) (T, error) {
	panic("unimplemented")
}

// Named keys the question by name instead of by call order.
func Named(name string) InterruptOption { panic("unimplemented") }

// ResponseSchema makes answers be checked before they are stored.
func ResponseSchema(schema json.RawMessage) InterruptOption { panic("unimplemented") }

// StepOption configures Step.
type StepOption func(*stepOptions)

type stepOptions struct{}

// AtMostOnce asks a person when a crash left the outcome of the step unknown (decisions 6). Default: AtLeastOnce, the step runs again.
func AtMostOnce() StepOption { panic("unimplemented") }

// StepTimeoutOf bounds one attempt of the step.
func StepTimeoutOf(d time.Duration) StepOption { panic("unimplemented") }

// StepContext is what a durable step gets. It offers no Interrupt and no Step.
type StepContext interface {
	context.Context
	// IdempotencyKey is stable over retries, resumes and recovery.
	IdempotencyKey() string
	Attempt() int
}

// Step runs fn once and journals its result: when the task runs again after a
// suspension or a crash, the recorded result is returned and fn isn't called.
func Step[T any](ctx Context, name string, fn func(ctx StepContext) (T, error), opts ...StepOption) (T, error) {
	panic("unimplemented")
}

// Invoke runs a graph inside a node, under the node's namespace.
func Invoke(ctx Context, g *Graph, input any) (*State, error) { panic("unimplemented") }

// MessageStream writes one streamed message of a model call to the run's events.
// Methods are to be called in the order of the stream.
type MessageStream struct{}

// MessageOptions describe a message to be streamed.
type MessageOptions struct {
	ID    string // "" = derived from the task
	Name  string
	Tags  []string
	Extra map[string]json.RawMessage // metadata of the model (ls_provider, …)
	// Prompt is the model's input, for the "events" mode.
	Prompt message.List
}

// StreamMessage opens a message.
func StreamMessage(ctx Context, o MessageOptions) *MessageStream { panic("unimplemented") }

// ID is the message's id.
func (m *MessageStream) ID() string { panic("unimplemented") }

// Chunk writes one chunk of the model's stream.
func (m *MessageStream) Chunk(c message.Chunk) { panic("unimplemented") }

// Finish closes the message; the result is what was streamed.
func (m *MessageStream) Finish() message.Message { panic("unimplemented") }

// Reset starts over with the same id, before a second attempt of the call.
func (m *MessageStream) Reset() { panic("unimplemented") }

// Fail closes the message after the call failed for good.
func (m *MessageStream) Fail(err error) { panic("unimplemented") }

// ToolCallStarted, ToolCallOutput, ToolCallFinished and ToolCallFailed report a tool call's lifecycle.
func ToolCallStarted(ctx Context, callID, name string, args json.RawMessage) { panic("unimplemented") }

// ToolCallOutput reports a piece of output.
func ToolCallOutput(ctx Context, callID, name string, delta any) { panic("unimplemented") }

// ToolCallFinished reports the result.
func ToolCallFinished(ctx Context, callID, name string, result message.Message) {
	panic("unimplemented")
}

// ToolCallFailed reports a failure.
func ToolCallFailed(ctx Context, callID, name string, err error) { panic("unimplemented") }
