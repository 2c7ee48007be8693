package manifest

import "encoding/json"

// File is what a file says. Names of models, servers, tools and agents are the keys.
type File struct {
	Models map[string]Model  `json:"models,omitempty" jsonschema_description:"Models by a name of your own, with their options. Agents may also name a provider's model directly."`
	MCP    map[string]Server `json:"mcp,omitempty" jsonschema_description:"MCP servers by a name of your own. An agent lists their tools as server.tool, or server.* for all."`
	Tools  map[string]Tool   `json:"tools,omitempty" jsonschema_description:"Tools of your own, each an HTTP request. The built-in tools now, calculator and ask_user need no entry."`
	Agents map[string]Agent  `json:"agents" jsonschema:"required" jsonschema_description:"Agents by name. The name is the id that clients ask for."`
}

// Model is a chat model with its options: one of a provider, or a script.
type Model struct {
	Model       string            `json:"model,omitempty" jsonschema:"pattern=^[a-z0-9_-]+:.+$" jsonschema_description:"The provider and its name of the model, as openai:gpt-5-mini or anthropic:claude-sonnet-4-5."`
	BaseURL     string            `json:"base_url,omitempty" jsonschema_description:"Where the provider's API is, for compatible servers and gateways. ${NAME} is an environment variable."`
	APIKeyEnv   string            `json:"api_key_env,omitempty" jsonschema:"pattern=^[A-Za-z_][A-Za-z0-9_]*$" jsonschema_description:"The environment variable that holds the key. Default: the provider's usual one."`
	APIKeyFile  string            `json:"api_key_file,omitempty" jsonschema_description:"A file that holds the key, relative to this one. It wins over api_key_env."`
	Effort      string            `json:"effort,omitempty" jsonschema_description:"How much to reason, in the provider's words: low, medium, high."`
	Temperature *float64          `json:"temperature,omitempty" jsonschema:"minimum=0,maximum=2" jsonschema_description:"How random answers are. Default: the provider's."`
	MaxTokens   int               `json:"max_tokens,omitempty" jsonschema:"minimum=1" jsonschema_description:"The greatest length of one answer in tokens. Default: the provider's."`
	Timeout     Duration          `json:"timeout,omitempty" jsonschema_description:"How long one attempt of a call may take."`
	Retries     *int              `json:"retries,omitempty" jsonschema:"minimum=0,maximum=10" jsonschema_description:"How often a failed call is tried again."`
	Headers     map[string]string `json:"headers,omitempty" jsonschema_description:"Further headers of each request. ${NAME} is an environment variable."`
	Price       *Price            `json:"price,omitempty" jsonschema_description:"What tokens cost, for limits.cost of agents."`
	Script      []Rule            `json:"script,omitempty" jsonschema:"minItems=1" jsonschema_description:"What the model says, instead of a provider's model: for demos and tests without a key. The first rule that fits is played."`
}

// Price is what a million tokens cost, in any currency; limits.cost is in the same.
type Price struct {
	Input  float64 `json:"input" jsonschema:"required,minimum=0" jsonschema_description:"Price of a million input tokens."`
	Output float64 `json:"output" jsonschema:"required,minimum=0" jsonschema_description:"Price of a million output tokens."`
	Cached float64 `json:"cached_input,omitempty" jsonschema:"minimum=0" jsonschema_description:"Price of a million input tokens that the provider had in its cache. Default: that of input."`
}

// Rule is a part of a script.
type Rule struct {
	When  string `json:"when,omitempty" jsonschema_description:"Text that the newest message of the user contains, in any case. Default: any message."`
	Turns []Turn `json:"turns" jsonschema:"required,minItems=1" jsonschema_description:"What is said, one turn per call of the model. The last turn calls no tool."`
}

// Turn is one answer of a scripted model.
type Turn struct {
	Say  string `json:"say,omitempty" jsonschema_description:"The text. {human} is the newest message of the user, {result} that of the newest tool."`
	Call []Call `json:"call,omitempty" jsonschema_description:"Tools that are called at once."`
}

// Call is a tool call of a scripted model.
type Call struct {
	Tool string          `json:"tool" jsonschema:"required" jsonschema_description:"The tool's name, as the agent lists it."`
	Args json.RawMessage `json:"args,omitempty" jsonschema_description:"Its arguments. {human} and {result} in texts are filled in."`
}

// Server is an MCP server: a command that is started, or a URL.
type Server struct {
	Command string            `json:"command,omitempty" jsonschema_description:"The program to start; it speaks MCP on its standard input and output. It runs in this file's folder."`
	Args    []string          `json:"args,omitempty" jsonschema_description:"Its arguments."`
	Env     map[string]string `json:"env,omitempty" jsonschema_description:"Its environment variables, beside PATH, HOME and the like. ${NAME} is a variable of Parley's own environment."`
	URL     string            `json:"url,omitempty" jsonschema_description:"The address of a server that runs elsewhere (streamable HTTP). ${NAME} is an environment variable."`
	Headers map[string]string `json:"headers,omitempty" jsonschema_description:"Headers of each request. ${NAME} is an environment variable."`
	OnDown  string            `json:"on_down,omitempty" jsonschema:"enum=fail,enum=degrade" jsonschema_description:"What happens when the server can't be reached at the start: fail (default) refuses to start, degrade starts without its tools and tries again."`
	Connect Duration          `json:"connect_timeout,omitempty" jsonschema_description:"How long connecting may take. Default: 30s."`
	Timeout Duration          `json:"timeout,omitempty" jsonschema_description:"How long one call may take. Default: 60s."`
	Allow   []string          `json:"allow,omitempty" jsonschema_description:"The only tools that agents may use, by the server's names. Default: all."`
	Deny    []string          `json:"deny,omitempty" jsonschema_description:"Tools that no agent may use. Stronger than allow."`
	Elicit  bool              `json:"elicit,omitempty" jsonschema_description:"The server may ask the user: the run waits for the answer. Default: such questions are declined."`
	Trust   *bool             `json:"trust,omitempty" jsonschema_description:"false: what the server says of its tools (read-only, destructive) isn't believed, and all of them are reviewed unless review says otherwise. Default: true."`
}

// Tool is a tool of the file's own.
type Tool struct {
	Description string          `json:"description" jsonschema:"required,minLength=1" jsonschema_description:"What the tool does and when to use it; the model reads it."`
	Parameters  json.RawMessage `json:"parameters,omitempty" jsonschema_description:"The JSON Schema of its arguments, an object. Default: no arguments. Calls that don't fit are sent back to the model."`
	HTTP        *HTTP           `json:"http" jsonschema:"required" jsonschema_description:"The request that the tool makes."`
}

// HTTP is the request of a tool.
type HTTP struct {
	Method     string            `json:"method,omitempty" jsonschema:"enum=GET,enum=HEAD,enum=POST,enum=PUT,enum=PATCH,enum=DELETE" jsonschema_description:"Default: GET."`
	URL        string            `json:"url" jsonschema:"required" jsonschema_description:"The address. {name} in its path or query is an argument, escaped; ${NAME} an environment variable. Other arguments are added to the query, or with POST, PUT and PATCH are the JSON body."`
	Headers    map[string]string `json:"headers,omitempty" jsonschema_description:"Headers. ${NAME} is an environment variable."`
	Timeout    Duration          `json:"timeout,omitempty" jsonschema_description:"How long the request may take. Default: 30s."`
	MaxBytes   int               `json:"max_bytes,omitempty" jsonschema:"minimum=1,maximum=10485760" jsonschema_description:"How much of the answer is read; the rest is cut off and the model is told so. Default: 65536."`
	Idempotent bool              `json:"idempotent,omitempty" jsonschema_description:"The service recognises a repeated POST or PATCH by its Idempotency-Key header. Without it, a request that a crash has cut off is not sent again: a person is asked."`
}

// Agent is an agent whose model calls tools.
type Agent struct {
	Description string            `json:"description,omitempty" jsonschema_description:"What the agent does. An agent that has this one as a subagent reads it."`
	Model       string            `json:"model" jsonschema:"required" jsonschema_description:"A name of models, or a provider's model as openai:gpt-5-mini."`
	Prompt      string            `json:"prompt,omitempty" jsonschema_description:"The system prompt."`
	PromptFile  string            `json:"prompt_file,omitempty" jsonschema_description:"A file with the system prompt, relative to this one."`
	Tools       []string          `json:"tools,omitempty" jsonschema_description:"What the model may call: built-in tools (now, calculator, ask_user), names of tools, and tools of MCP servers as server.tool, or server.* for all. A pattern like server.read_* stands for those that fit."`
	Review      map[string]Review `json:"review,omitempty" jsonschema_description:"Which tools a person has to agree to, by their name or a pattern (files.*). Tools that may destroy something are reviewed unless this says false: those of MCP servers by what the server says of them, requests with PUT and DELETE."`
	ReviewMode  string            `json:"review_mode,omitempty" jsonschema:"enum=batch,enum=per_call" jsonschema_description:"batch (default): one question for all calls of an answer; per_call: a question for each call."`
	Casing      string            `json:"casing,omitempty" jsonschema:"enum=camel,enum=snake" jsonschema_description:"How keys of questions are written. Answers may have either."`
	Subagents   []string          `json:"subagents,omitempty" jsonschema_description:"Agents of this file that the model may hand work to."`
	Internal    bool              `json:"internal,omitempty" jsonschema_description:"The agent is a subagent only: clients can't ask for it."`
	Limits      Limits            `json:"limits,omitzero" jsonschema_description:"How far one turn may go, from a message of the user to the next."`
	Context     Context           `json:"context,omitzero" jsonschema_description:"How long a conversation the model is shown."`
	Output      json.RawMessage   `json:"output,omitempty" jsonschema_description:"The JSON Schema of a structured answer, an object."`
}

// Limits bound a turn, from a message of the user to the next; what is zero is not bounded.
type Limits struct {
	Steps    int      `json:"steps,omitempty" jsonschema:"minimum=1" jsonschema_description:"Calls of the model."`
	Tokens   int      `json:"tokens,omitempty" jsonschema:"minimum=1" jsonschema_description:"Input and output tokens of all calls together."`
	Cost     float64  `json:"cost,omitempty" jsonschema:"exclusiveMinimum=0" jsonschema_description:"Cost of all calls together; the model needs a price."`
	WallTime Duration `json:"wall_time,omitempty" jsonschema_description:"Time that the runs of the turn take, without the time in which they wait for a person."`
	OnLimit  string   `json:"on_limit,omitempty" jsonschema:"enum=stop,enum=fail" jsonschema_description:"stop (default): the agent says that it has to stop; fail: the run ends with an error."`
}

// Context says what becomes of long conversations.
type Context struct {
	Trim      *Trim      `json:"trim,omitempty" jsonschema_description:"Leave the oldest messages out of what the model is shown. The conversation itself stays whole."`
	Summarise *Summarise `json:"summarise,omitempty" jsonschema_description:"Replace the oldest messages with a summary."`
}

// Trim bounds what the model is shown.
type Trim struct {
	Messages int `json:"messages,omitempty" jsonschema:"minimum=1" jsonschema_description:"The greatest number of messages."`
	Tokens   int `json:"tokens,omitempty" jsonschema:"minimum=1" jsonschema_description:"The greatest number of tokens, estimated."`
}

// Summarise replaces old messages with a summary.
type Summarise struct {
	Messages int    `json:"messages,omitempty" jsonschema:"minimum=1" jsonschema_description:"Summarise when the conversation has more messages than this."`
	Tokens   int    `json:"tokens,omitempty" jsonschema:"minimum=1" jsonschema_description:"Summarise when the conversation has more tokens than this, estimated."`
	Keep     int    `json:"keep,omitempty" jsonschema:"minimum=1" jsonschema_description:"How many of the newest messages are kept as they are. Default: 20."`
	Model    string `json:"model,omitempty" jsonschema_description:"The model that writes the summary. Default: the agent's."`
}
