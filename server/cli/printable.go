package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
)

// works reports whether a character works a terminal, or the order and place of what is shown, instead of being shown:
// controls, among them those of 8-bit terminals (C1), directions of writing, invisible ones, separators of lines.
func works(r rune) bool {
	switch r {
	case '\u200c', '\u200d': // scripts and emoji need them
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// Printable shows such characters instead of letting them work the terminal: what an agent or its user wrote must not
// be able to hide or forge what is shown. Line feeds and tabs stay.
func Printable(text string) string {
	return shown(text, func(r rune) bool { return r != '\n' && r != '\t' && works(r) })
}

func printable(text string) string { return Printable(text) }

// oneLine is Printable for a place in a line or a table: line feeds and tabs would make other ones.
func oneLine(text string) string { return shown(text, works) }

func shown(text string, hide func(rune) bool) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, hide) {
		return text
	}
	var b strings.Builder
	for _, r := range text { // what isn't UTF-8 becomes U+FFFD
		switch {
		case !hide(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// escapeJSON writes such characters of JSON by their escapes: a program reads the same values, and a terminal shows them.
func escapeJSON(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		r, size := utf8.DecodeRune(raw)
		switch {
		case r == utf8.RuneError && size == 1:
			out = append(out, `\ufffd`...)
		case r < ' ' || !works(r): // below a space there is only what stands between values
			out = append(out, raw[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		raw = raw[size:]
	}
	return out
}

// terminal reports whether a person sees what is written, as it is.
func (s *Streams) terminal() bool {
	f, ok := s.Out.(*os.File)
	return s.Interactive || ok && term.IsTerminal(int(f.Fd()))
}

// printableWriter passes text on as Printable.
type printableWriter struct {
	w    io.Writer
	rest []byte // of a character whose end is still to come
}

// Write implements io.Writer.
func (p *printableWriter) Write(b []byte) (int, error) {
	all := append(p.rest, b...)
	end := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if c := all[len(all)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(all[len(all)-back:]) {
				end = len(all) - back
			}
			break
		}
	}
	p.rest = append([]byte(nil), all[end:]...)
	if _, err := io.WriteString(p.w, printable(string(all[:end]))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close writes what is left.
func (p *printableWriter) Close() error {
	_, err := io.WriteString(p.w, printable(string(p.rest)))
	return err
}
