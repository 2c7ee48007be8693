package transfer

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// formatVersion is the version of dump files. Fields may be added without a new one.
const formatVersion = 1

// ErrFile says that a file is not a whole dump.
var ErrFile = errors.New("not a whole dump")

// File is a dump in a file: lines of JSON, compressed by gzip. The first line tells
// the version, the last one the sums of what is between them.
type File struct {
	path string
	w    *writing // nil unless a load is under way
}

// NewFile returns the dump at path.
func NewFile(path string) *File { return &File{path: path} }

// header is the first line of a dump.
type header struct {
	Parley  string `json:"parley"`
	Version int    `json:"version"`
}

// trailer is the last line of a dump.
type trailer struct {
	Sums map[string]Sum `json:"sums"`
}

// line is any line of a dump but the first.
type line struct {
	Record
	Sums map[string]Sum `json:"sums,omitempty"`
}

const fileKind = "dump"

// writing is a dump on its way to the disk, beside its final place.
type writing struct {
	file  *os.File
	zip   *gzip.Writer
	buf   *bufio.Writer
	tally Tally
}

// unfinished is where a dump is written to.
func (f *File) unfinished() string { return f.path + ".unfinished" }

// BeginLoad implements Target.
func (f *File) BeginLoad(context.Context) error {
	if _, err := os.Stat(f.path); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s: %w", f.path, ErrNotEmpty))
	}
	out, err := os.OpenFile(f.unfinished(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := &writing{file: out, buf: bufio.NewWriterSize(out, 1<<16)}
	w.zip = gzip.NewWriter(w.buf)
	f.w = w
	return w.put(header{Parley: fileKind, Version: formatVersion})
}

func (w *writing) put(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.zip.Write(append(b, '\n'))
	return err
}

// Load implements Target.
func (f *File) Load(_ context.Context, r *Record) error {
	if err := f.w.tally.Add(r); err != nil {
		return err
	}
	return f.w.put(r)
}

// finish writes the trailer and brings everything to the disk.
func (w *writing) finish() error {
	err := w.put(trailer{Sums: w.tally.Sums})
	for _, step := range []func() error{w.zip.Close, w.buf.Flush, w.file.Sync, w.file.Close} {
		if err == nil {
			err = step()
		}
	}
	return err
}

// EndLoad implements Target: the file takes its place.
func (f *File) EndLoad(context.Context) error {
	if err := f.flush(); err != nil {
		return err
	}
	if err := os.Rename(f.unfinished(), f.path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(f.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// flush ends the writing, so that the file can be read back.
func (f *File) flush() error {
	if f.w == nil {
		return nil
	}
	w := f.w
	f.w = nil
	return w.finish()
}

// Check reads the whole file: one that was cut off or changed is found out at its end only.
func (f *File) Check(ctx context.Context) error {
	return f.Dump(ctx, func(*Record) error { return nil })
}

// Dump implements Source.
func (f *File) Dump(ctx context.Context, emit func(*Record) error) error {
	path := f.path
	if f.w != nil { // to be read back
		if err := f.flush(); err != nil {
			return err
		}
		path = f.unfinished()
	}
	in, err := os.Open(path) //nolint:gosec // the operator's own choice
	if err != nil {
		return err
	}
	err = readDump(ctx, in, emit)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return errors.Join(err, in.Close())
}

func readDump(ctx context.Context, in io.Reader, emit func(*Record) error) error {
	zip, err := gzip.NewReader(bufio.NewReaderSize(in, 1<<16))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	dec := json.NewDecoder(zip)
	var head header
	if err := dec.Decode(&head); err != nil || head.Parley != fileKind {
		return fmt.Errorf("%w: no dump of Parley", ErrFile)
	}
	if head.Version != formatVersion {
		return fmt.Errorf("%w: version %d; this program knows version %d", ErrFile, head.Version, formatVersion)
	}
	var tally Tally
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var l line
		if err := dec.Decode(&l); err != nil {
			return fmt.Errorf("%w: %w", ErrFile, err)
		}
		if l.Sums != nil {
			if diff := (&Tally{Sums: l.Sums}).Differences(&tally); diff != "" {
				return fmt.Errorf("%w: %s", ErrFile, diff)
			}
			if _, err := dec.Token(); !errors.Is(err, io.EOF) { // the compression's own checksum, too
				return fmt.Errorf("%w: more behind its end", ErrFile)
			}
			return nil
		}
		if err := tally.Add(&l.Record); err != nil {
			return fmt.Errorf("%w: %w", ErrFile, err)
		}
		if err := emit(&l.Record); err != nil {
			return err
		}
	}
}
