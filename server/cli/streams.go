package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Interactive says that a person sits before In and Out: commands may ask.
	Interactive bool
}

// System are the program's own streams.
func System() *Streams {
	return &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Interactive: term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())),
	}
}

// piped reports whether something was put into standard input for the command to read.
func (s *Streams) piped() bool {
	f, ok := s.In.(*os.File)
	if !ok {
		return s.In != nil && !s.Interactive
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0 && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 || err == nil && info.Mode().IsRegular()
}
