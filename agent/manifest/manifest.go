package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Options say in which surroundings a file is read.
type Options struct {
	// Lookup finds environment variables. Default: os.LookupEnv.
	Lookup func(name string) (string, bool)
}

// Manifest is a file that was read and found right.
type Manifest struct {
	File
	// Path is the file's name as it was given, Dir the folder that relative paths in it begin at.
	Path, Dir string

	doc     *document
	lookup  func(name string) (string, bool)
	prompts map[string]string // by agent
}

// maxFile is the greatest size of a file in bytes, of prompt files too.
const maxFile = 4 << 20

// Read reads and checks a file. Nothing is connected and no key is read. Errors: *Error
// with everything that is wrong; that of a file that can't be read.
func Read(path string, o Options) (*Manifest, error) {
	source, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, source, o)
}

// Parse is Read for the content of the file at path.
func Parse(path string, source []byte, o Options) (*Manifest, error) {
	if o.Lookup == nil {
		o.Lookup = os.LookupEnv
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	d := readDocument(path, source)
	d.files = []string{absolute}
	if d.raw == nil {
		return nil, d.err()
	}
	s, err := theShape()
	if err != nil {
		return nil, err
	}
	if err := s.check(d); err != nil {
		return nil, err
	}
	if d.bad[""] { // nothing can be said of what isn't a mapping
		return nil, d.err()
	}
	f, err := decode(d)
	if err != nil {
		return nil, err
	}
	m := &Manifest{
		File: *f, Path: path, Dir: filepath.Dir(absolute),
		doc: d, lookup: o.Lookup, prompts: map[string]string{},
	}
	(&checker{m: m, d: d, f: f}).check()
	if err := d.err(); err != nil {
		return nil, err
	}
	return m, nil
}

// Files are the files that were read, the manifest first: when one changes, so may the agents.
func (m *Manifest) Files() []string { return slices.Clone(m.doc.files) }

// names are the keys of a top-level mapping, in the order of the file.
func (d *document) names(property string) []string {
	if l, ok := d.values[pointer("", property)]; ok {
		return l.keys
	}
	return nil
}

// inside is a path of the file as an absolute one.
func (m *Manifest) inside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(m.Dir, path)
}

// missingError says that a file isn't there; it is fs.ErrNotExist.
type missingError struct{ path string }

func (e *missingError) Error() string { return "manifest: " + e.path + " doesn't exist" }

func (e *missingError) Unwrap() error { return fs.ErrNotExist }

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &missingError{path}
	case err != nil:
		return nil, fmt.Errorf("manifest: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("manifest: %s is a folder; name the file in it", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("manifest: %s has more than %d bytes", path, maxFile)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return source, nil
}
