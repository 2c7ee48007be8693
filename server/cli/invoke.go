package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
)

// contextHeader is the prefix of the headers that reach the agent (spec/executions.md 4).
const contextHeader = "X-Parley-Custom-"

// Invoke is the command invoke (spec/executions.md 6).
type Invoke struct {
	Agent   string   `arg:"" help:"Name or id of the agent."`
	Message []string `arg:"" optional:"" help:"What to say to it. Without a message, and in a terminal, a chat opens."`

	Connection
	Session string            `help:"Conversation to go on with. Default: a new one." placeholder:"ID"`
	Context map[string]string `help:"What the agent is told beside the message; it isn't kept over a suspension." placeholder:"K=V"`
	User    string            `help:"On whose behalf; the agent is told." placeholder:"NAME"`
	File    string            `help:"Read the message from a file." type:"existingfile" placeholder:"FILE"`
	Payload string            `help:"Input of the agent as a JSON object, in place of a message." placeholder:"JSON"`
	Resume  string            `help:"Decide what the session waits for: {\"decision\": …, \"reviewer_notes\": …}." placeholder:"JSON"`
	JSON    bool              `name:"json" help:"Print the execution as JSON, and never ask."`
	Stream  bool              `help:"Print the text as it comes, also where nobody is asked."`
	Timeout time.Duration     `help:"How long to wait for the end or a suspension." default:"10m"`
}

// Validate implements kong's check of flags that exclude each other.
func (cmd *Invoke) Validate() error {
	given := 0
	for _, is := range []bool{len(cmd.Message) > 0, cmd.File != "", cmd.Payload != "", cmd.Resume != ""} {
		if is {
			given++
		}
	}
	switch {
	case cmd.Resume != "" && given > 1:
		return errors.New("--resume excludes a message, --file and --payload")
	case given > 1:
		return errors.New("give one of a message, --file and --payload")
	case cmd.Resume != "" && cmd.Session == "":
		return errors.New("--resume needs --session: it decides what that conversation waits for")
	case cmd.Payload != "" && !isObject(cmd.Payload):
		return errors.New("--payload must be a JSON object")
	case cmd.Resume != "" && !isObject(cmd.Resume):
		return errors.New(`--resume must be a JSON object: {"decision": "approve"}`)
	}
	return nil
}

func isObject(text string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &o) == nil && o != nil
}

// session is a conversation at the command line.
type session struct {
	cmd *Invoke
	c   *client
	w   watcher
	ask *asker
	out io.Writer
	// asks: a person may be asked.
	asks bool
	// waiting is what a person was asked about and hasn't decided; nil for nothing. running: an execution goes on.
	waiting *execution
	running bool
}

// Run implements the command.
func (cmd *Invoke) Run(s *Streams) error {
	ctx, stop := untilSignal()
	defer stop()
	c := cmd.client()
	c.headers = http.Header{}
	for k, v := range cmd.Context {
		c.headers.Set(contextHeader+k, v)
	}
	if cmd.User != "" {
		c.headers.Set(contextHeader+"User", cmd.User)
	}
	talk := &session{
		cmd: cmd, c: c, w: watcher{c: c, session: or(cmd.Session, uuid.NewString())},
		out: s.Out, asks: s.Interactive && !cmd.JSON && cmd.File == "",
	}
	if talk.asks {
		talk.ask = newAsker(s)
	}
	return coded(talk.run(ctx, s))
}

func (s *session) run(ctx context.Context, streams *Streams) error {
	if s.cmd.Resume != "" {
		return s.once(ctx, s.decided)
	}
	body, err := s.cmd.body(streams)
	if err != nil {
		return err
	}
	if body == nil {
		if !s.asks {
			return &ExitError{2, errors.New("give a message, --file or --payload, or write the message to standard input")}
		}
		return s.chat(ctx)
	}
	return s.once(ctx, s.invoked(body))
}

// step gets an execution on until it waits for a person, or is over; said gets what the agent says meanwhile.
type step func(ctx context.Context, said func(string)) (*execution, error)

// invoked begins an execution.
func (s *session) invoked(body any) step {
	return func(ctx context.Context, said func(string)) (*execution, error) { return s.w.invoke(ctx, body, said) }
}

// resumed goes on with one.
func (s *session) resumed(e *execution) step {
	return func(ctx context.Context, said func(string)) (*execution, error) { return s.w.resumed(ctx, e, said) }
}

// body is what an invocation sends; nil when nothing was given.
func (cmd *Invoke) body(s *Streams) (map[string]any, error) {
	body := map[string]any{"agent": cmd.Agent}
	switch {
	case cmd.Payload != "":
		body["input"] = json.RawMessage(cmd.Payload)
		return body, nil
	case len(cmd.Message) > 0:
		body["message"] = strings.Join(cmd.Message, " ")
		return body, nil
	}
	var text []byte
	var err error
	switch {
	case cmd.File != "":
		text, err = os.ReadFile(cmd.File)
	case s.piped():
		text, err = io.ReadAll(s.In)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if body["message"] = strings.TrimSpace(string(text)); body["message"] == "" {
		return nil, &ExitError{2, errors.New("the message is empty")}
	}
	return body, nil
}

// decided resumes what the session waits for.
func (s *session) decided(ctx context.Context, said func(string)) (*execution, error) {
	e, err := s.c.suspendedIn(ctx, s.w.session)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, s.nothingWaits(ctx)
	}
	now, err := s.c.resume(ctx, e.ID, json.RawMessage(s.cmd.Resume))
	if err != nil {
		return nil, moreThanAWord(err, e.ReviewIDs)
	}
	return s.w.resumed(ctx, now, said)
}

// once invokes, or resumes, and waits for the end. A person is asked for decisions; where nobody can be,
// the suspended execution is printed.
func (s *session) once(ctx context.Context, begin step) error {
	e, err := s.turn(ctx, begin)
	if err != nil {
		return s.parted(s.told(ctx, err))
	}
	return s.end(e)
}

// turn is one message of the user's and all that follows, decisions included.
func (s *session) turn(ctx context.Context, begin step) (*execution, error) {
	for {
		e, err := s.watch(ctx, begin)
		if err != nil || e.Status != suspended || !s.asks {
			return e, err
		}
		s.waiting = e
		if e, err = s.settle(ctx, e); err != nil {
			return e, err
		}
		s.waiting = nil
		begin = s.resumed(e)
	}
}

// watch waits for the end or a suspension, and shows what the agent says meanwhile.
func (s *session) watch(ctx context.Context, next step) (*execution, error) {
	late := fmt.Errorf("no end after %v (--timeout); the session %s goes on", s.cmd.Timeout, s.w.session)
	ctx, cancel := context.WithTimeoutCause(ctx, s.cmd.Timeout, late)
	defer cancel()
	s.running = true
	said, show := "", s.asks || s.cmd.Stream && !s.cmd.JSON
	e, err := next(ctx, func(text string) {
		if text = printable(text); show {
			_, _ = fmt.Fprint(s.out, text) // the end is told anyway
		}
		said += text
	})
	s.running = err != nil // and then nobody knows
	if err == nil && show && said != "" && !strings.HasSuffix(said, "\n") {
		err = s.say("\n")
	}
	return e, err
}

// end prints the result where it wasn't shown as it came, and gives the exit code.
func (s *session) end(e *execution) error {
	if s.cmd.JSON || e.Status == suspended {
		if err := writeIndented(s.out, e.raw); err != nil {
			return err
		}
	} else if e.Status == completed && !s.asks && !s.cmd.Stream {
		if err := s.say(printable(e.Response) + "\n"); err != nil {
			return err
		}
	}
	switch e.Status {
	case suspended:
		return &ExitError{Code: ExitSuspended}
	case failed:
		return &ExitError{1, fmt.Errorf("the execution failed: %s", e.failure())}
	}
	return nil
}

// failure is why an execution ended without a result.
func (e *execution) failure() string {
	if e.Error != "" {
		return printable(e.Error)
	}
	return e.ErrorCode
}
