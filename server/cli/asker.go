package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term" // the Go project's own line editor: the form of the prompts is given (spec/executions.md 6)
)

// errNoMore: the person has closed the input.
var errNoMore = errors.New("the input has ended")

// asker asks a person for lines.
type asker struct {
	out  io.Writer
	read func(prompt string) (string, error)
}

// newAsker edits lines where the input is a terminal, and reads them plainly elsewhere.
func newAsker(s *Streams) *asker {
	in, ok := s.In.(*os.File)
	if ok && s.Interactive {
		edit := term.NewTerminal(readWriter{in, s.Out}, "")
		return &asker{s.Out, func(prompt string) (string, error) { return editLine(in, edit, prompt) }}
	}
	lines := bufio.NewReader(s.In)
	return &asker{s.Out, func(prompt string) (string, error) {
		if _, err := fmt.Fprint(s.Out, prompt); err != nil {
			return "", err
		}
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

// line asks for a line; errNoMore at the end of the input.
func (a *asker) line(ctx context.Context, prompt string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	text, err := a.read(prompt)
	if errors.Is(err, io.EOF) {
		return "", errNoMore
	}
	return strings.TrimSpace(text), err
}

// choose asks for one of a list, until a number of it is given.
func (a *asker) choose(ctx context.Context, title string, options []string) (string, error) {
	text := title + "\n"
	for i, o := range options {
		text += fmt.Sprintf("  %d) %s\n", i+1, oneLine(o))
	}
	if _, err := fmt.Fprint(a.out, text); err != nil {
		return "", err
	}
	for {
		given, err := a.line(ctx, fmt.Sprintf("Select [1-%d]: ", len(options)))
		if err != nil {
			return "", err
		}
		n, err := strconv.Atoi(given)
		if err == nil && n >= 1 && n <= len(options) {
			return options[n-1], nil
		}
		if _, err := fmt.Fprintf(a.out, "Please give a number from 1 to %d.\n", len(options)); err != nil {
			return "", err
		}
	}
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
