package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// Fault is one mistake of a file.
type Fault struct {
	// File is the file's name as it was given, Line and Column count from 1; both are 0
	// for a mistake of the whole file.
	File         string
	Line, Column int
	// Path says which value is meant, as agents.support.tools[2]; "" is the file.
	Path    string
	Message string
	// Excerpt shows the line and its neighbours, with a mark; "" without a line.
	Excerpt string
}

// String is the fault in one line, file:line:column first, so that editors and terminals find it.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	b.WriteString(": ")
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	return b.String() + f.Message
}

// Error is all that is wrong with a file.
type Error struct {
	Faults []Fault
	// Files are those that were looked at: a change of one of them may put it right.
	Files []string
}

// Faults are the mistakes that an error tells of; none if it is of another kind.
func Faults(err error) []Fault {
	var e *Error
	if errors.As(err, &e) {
		return e.Faults
	}
	return nil
}

// FilesOf are the files that an error tells of.
func FilesOf(err error) []string {
	var e *Error
	if errors.As(err, &e) {
		return e.Files
	}
	return nil
}

// Error lists the faults in the order of the file, each with its excerpt.
func (e *Error) Error() string {
	var b strings.Builder
	for i, f := range e.Faults {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(f.String())
		if f.Excerpt != "" {
			b.WriteString("\n" + f.Excerpt)
		}
	}
	return b.String()
}

// fault adds a mistake.
func (d *document) fault(at string, place *token.Position, message string) {
	f := Fault{File: d.name, Path: readable(at), Message: message}
	if place != nil {
		f.Line, f.Column = place.Line, place.Column
	}
	d.faults = append(d.faults, f)
}

// at adds a mistake of the value at a JSON pointer; of the nearest one around it, if there is none.
func (d *document) at(pointer, message string) {
	d.markBad(pointer)
	d.fault(pointer, d.place(pointer, false), message)
}

// markBad keeps later checks from a value.
func (d *document) markBad(pointer string) {
	if d.bad == nil {
		d.bad = map[string]bool{}
	}
	d.bad[pointer] = true
}

// atKey is at for a mistake of the value's key.
func (d *document) atKey(pointer, message string) {
	d.fault(pointer, d.place(pointer, true), message)
}

func (d *document) place(pointer string, key bool) *token.Position {
	for {
		if l, ok := d.values[pointer]; ok {
			switch {
			case key && l.key != nil:
				return l.key
			case l.value != nil:
				return l.value
			case l.key != nil:
				return l.key
			}
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return nil
		}
		pointer, key = pointer[:i], true
	}
}

// err is what is wrong, sorted by place; nil if nothing is.
func (d *document) err() error {
	if len(d.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(d.faults, func(a, b Fault) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	faults := slices.Compact(slices.Clone(d.faults))
	for i := range faults {
		f := &faults[i]
		if f.Line > 0 {
			f.Excerpt = d.hide(excerpt(d.source, f.Line, f.Column))
		}
	}
	return &Error{Faults: faults, Files: slices.Clone(d.files)}
}

// secret keeps a text that seems to be a key out of what is shown.
func (d *document) secret(text string) {
	if text != "" {
		d.secrets = append(d.secrets, text)
	}
}

func (d *document) hide(text string) string {
	for _, s := range d.secrets {
		text = strings.ReplaceAll(text, s, strings.Repeat("*", utf8.RuneCountInString(s))) // the mark below stays where it points
	}
	return text
}

// readable is a JSON pointer as people write paths.
func readable(pointer string) string {
	var b strings.Builder
	for i, part := range strings.Split(pointer, "/") {
		switch {
		case i == 0:
		case isIndex(part):
			b.WriteString("[" + part + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
		}
	}
	return b.String()
}

func isIndex(part string) bool {
	return part != "" && strings.Trim(part, "0123456789") == ""
}

// excerpt shows a line, that before it, and where in it.
func excerpt(source string, line, column int) string {
	lines := strings.Split(source, "\n")
	if line > len(lines) {
		return ""
	}
	var b strings.Builder
	show := func(n int, mark string) {
		if n >= 1 {
			fmt.Fprintf(&b, "%s%4d | %s\n", mark, n, strings.ReplaceAll(strings.TrimRight(lines[n-1], "\r"), "\t", " "))
		}
	}
	show(line-1, "  ")
	show(line, "> ")
	b.WriteString("       | " + strings.Repeat(" ", max(column-1, 0)) + "^")
	return b.String()
}
