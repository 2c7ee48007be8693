package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term" // the Go project's own line editor: the form of the prompts is given (spec/executions.md 6)
)

// errNoMore: the person has closed the input, or has said so.
var errNoMore = errors.New("the input has ended")

// leaves are the lines that end the input at every prompt.
var leaves = []string{"/exit", "/quit"}

// asker asks a person for lines.
type asker struct {
	out  io.Writer
	read func(ctx context.Context, prompt string) (string, error)
}

// newAsker edits lines where the input is a terminal, and reads them plainly elsewhere.
func newAsker(s *Streams) *asker {
	typed := &input{from: s.In}
	if in, ok := s.In.(*os.File); ok && s.Interactive {
		edit := term.NewTerminal(readWriter{typed, s.Out}, "")
		return &asker{s.Out, func(ctx context.Context, prompt string) (string, error) {
			typed.until = ctx
			return editLine(in, edit, prompt)
		}}
	}
	lines := bufio.NewReader(typed)
	return &asker{s.Out, func(ctx context.Context, prompt string) (string, error) {
		if _, err := fmt.Fprint(s.Out, prompt); err != nil {
			return "", err
		}
		typed.until = ctx
		line, err := lines.ReadString('\n')
		if err != nil && line == "" {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}}
}

type readWriter struct {
	io.Reader
	io.Writer
}

// editLine reads one line; the terminal is as it was before and after.
func editLine(in *os.File, edit *term.Terminal, prompt string) (line string, err error) {
	fd := int(in.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, term.Restore(fd, state)) }()
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		_ = edit.SetSize(width, height) // it only wraps by that
	}
	edit.SetPrompt(prompt)
	line, err = edit.ReadLine()
	if errors.Is(err, term.ErrPasteIndicator) { // pasted: a line as any other
		err = nil
	}
	return line, err
}

// line asks for a line; errNoMore at the end of the input, and when the person leaves.
func (a *asker) line(ctx context.Context, prompt string) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	text, err := a.read(ctx, prompt)
	switch text = strings.TrimSpace(text); {
	case ctx.Err() != nil:
		return "", errors.Join(context.Cause(ctx), a.say("\n")) // what follows isn't said behind the prompt
	case errors.Is(err, io.EOF):
		return "", errors.Join(errNoMore, a.say("\n"))
	case err == nil && slices.Contains(leaves, text):
		return "", errNoMore
	}
	return text, err
}

func (a *asker) say(text string) error {
	_, err := fmt.Fprint(a.out, text)
	return err
}

// choose asks for one of a list, until a number of it is given, and returns its index. An empty line takes the
// option at otherwise; with that below 0 there is none.
func (a *asker) choose(ctx context.Context, title string, options []string, otherwise int) (int, error) {
	text := title + "\n"
	for i, o := range options {
		text += fmt.Sprintf("  %d) %s\n", i+1, oneLine(o))
	}
	if err := a.say(text); err != nil {
		return 0, err
	}
	prompt := fmt.Sprintf("Select [1-%d]: ", len(options))
	if otherwise >= 0 {
		prompt += fmt.Sprintf("[default: %d] ", otherwise+1)
	}
	for {
		given, err := a.line(ctx, prompt)
		if err != nil {
			return 0, err
		}
		if given == "" && otherwise >= 0 {
			return otherwise, nil
		}
		n, err := strconv.Atoi(given)
		if err == nil && n >= 1 && n <= len(options) {
			return n - 1, nil
		}
		if err := a.say(fmt.Sprintf("Please give a number from 1 to %d.\n", len(options))); err != nil {
			return 0, err
		}
	}
}

// option asks for one of a list by its number.
func (a *asker) option(ctx context.Context, title string, options []string) (string, error) {
	at, err := a.choose(ctx, title, options, -1)
	if err != nil {
		return "", err
	}
	return options[at], nil
}

// insist asks until something is given.
func (a *asker) insist(ctx context.Context, prompt string) (string, error) {
	for {
		text, err := a.line(ctx, prompt)
		if err != nil || text != "" {
			return text, err
		}
	}
}
