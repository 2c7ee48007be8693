package local

import (
	"encoding/binary"
	"errors"
)

// errCorrupt: stored bytes that can't be read back.
var errCorrupt = errors.New("stored record is damaged")

// enc appends fields to a record: varints, and strings behind their length.
type enc []byte

func (e *enc) uint(n uint64) { *e = binary.AppendUvarint(*e, n) }
func (e *enc) int(n int64)   { *e = binary.AppendVarint(*e, n) }
func (e *enc) text(s string) { e.uint(uint64(len(s))); *e = append(*e, s...) }
func (e *enc) blob(b []byte) { e.uint(uint64(len(b))); *e = append(*e, b...) }
func (e *enc) bool(b bool) {
	if b {
		*e = append(*e, 1)
		return
	}
	*e = append(*e, 0)
}

// dec reads what enc wrote; the first error stays in err.
type dec struct {
	b   []byte
	err error
}

func (d *dec) uint() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.b, d.err = nil, errCorrupt
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *dec) int() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.b, d.err = nil, errCorrupt
		return 0
	}
	d.b = d.b[size:]
	return n
}

// view is the next field's bytes, not copied.
func (d *dec) view() []byte {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.b, d.err = nil, errCorrupt
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

func (d *dec) text() string { return string(d.view()) }

// blob is a copy of the next field; nil when it is empty.
func (d *dec) blob() []byte {
	v := d.view()
	if len(v) == 0 {
		return nil
	}
	return append(make([]byte, 0, len(v)), v...)
}

func (d *dec) bool() bool { return d.uint() != 0 }
