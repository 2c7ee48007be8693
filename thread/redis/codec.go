package redis

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/parley-dev/parley/agent"
)

// errCorrupt: stored bytes that can't be read back.
var errCorrupt = errors.New("redis: stored record is damaged")

// encodeJSON writes v with raw JSON in it as it is: text that came over the wire
// isn't escaped once more.
func encodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// recordVersion is the first byte of stored records.
const recordVersion = 1

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

func (e *enc) error(err *agent.ErrorInfo) {
	e.bool(err != nil)
	if err != nil {
		e.text(err.Name)
		e.text(err.Message)
	}
}

// dec reads what enc wrote; the first error stays in err.
type dec struct {
	b   []byte
	err error
}

// open begins to read a record.
func open(b []byte) dec {
	if len(b) == 0 || b[0] != recordVersion {
		return dec{err: errCorrupt}
	}
	return dec{b: b[1:]}
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

func (d *dec) errorInfo() *agent.ErrorInfo {
	if !d.bool() {
		return nil
	}
	return &agent.ErrorInfo{Name: d.text(), Message: d.text()}
}

// encodeTask is the stored form of a task record, without checkpoint and id.
func encodeTask(t agent.TaskRecord) []byte {
	e := enc{recordVersion}
	e.text(t.NS)
	e.text(t.Name)
	e.text(string(t.Status))
	e.text(t.Path)
	e.bool(t.Nested)
	e.uint(uint64(len(t.Writes)))
	for _, w := range t.Writes {
		e.text(w.Channel)
		e.blob(w.Value)
	}
	e.uint(uint64(len(t.Interrupts)))
	for _, i := range t.Interrupts {
		e.text(i.ID)
		e.blob(i.Value)
		e.blob(i.ResponseSchema)
	}
	e.error(t.Error)
	return e
}

func decodeTask(b []byte, t *agent.TaskRecord) error {
	d := open(b)
	t.NS, t.Name, t.Status, t.Path, t.Nested = d.text(), d.text(), agent.TaskStatus(d.text()), d.text(), d.bool()
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		t.Writes = append(t.Writes, agent.Write{Channel: d.text(), Value: d.blob()})
	}
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		t.Interrupts = append(t.Interrupts, agent.InterruptInfo{ID: d.text(), Value: d.blob(), ResponseSchema: d.blob()})
	}
	t.Error = d.errorInfo()
	return d.err
}

// stepMember names a step within its origin.
func stepMember(s agent.StepRecord) string { return strconv.Itoa(s.Occurrence) + ":" + s.Name }

func encodeStep(s agent.StepRecord) []byte {
	e := enc{recordVersion}
	e.text(s.Name)
	e.int(int64(s.Occurrence))
	e.text(string(s.Status))
	e.int(int64(s.Attempt))
	e.blob(s.Result)
	e.error(s.Error)
	return e
}

func decodeStep(b []byte, s *agent.StepRecord) error {
	d := open(b)
	s.Name, s.Occurrence = d.text(), int(d.int())
	s.Status, s.Attempt, s.Result, s.Error = agent.StepStatus(d.text()), int(d.int()), d.blob(), d.errorInfo()
	return d.err
}

// encodeQuestion is what a question shows.
func encodeQuestion(i agent.InterruptInfo) []byte {
	e := enc{recordVersion}
	e.blob(i.Value)
	e.blob(i.ResponseSchema)
	return e
}

func decodeQuestion(b []byte, i *agent.InterruptInfo) error {
	d := open(b)
	i.Value, i.ResponseSchema = d.blob(), d.blob()
	return d.err
}

// encodeCheckpoint is the stored form of a checkpoint, headed by its address,
// which scripts read.
func encodeCheckpoint(c agent.CheckpointRecord) []byte {
	e := make(enc, 0, 160+len(c.NS)+len(c.Metadata)+len(c.State))
	e = strconv.AppendInt(e, int64(len(c.NS)), 10)
	e = append(e, ':')
	e = strconv.AppendInt(e, int64(len(c.ID)), 10)
	e = append(e, ':')
	e = append(e, c.NS...)
	e = append(e, c.ID...)
	e = append(e, recordVersion)
	e.text(c.ParentID)
	e.text(c.RunID)
	e.int(int64(c.Step))
	e.text(c.Source)
	e.int(c.AtMillis)
	e.blob(c.Metadata)
	e.blob(c.State)
	return e
}

func decodeCheckpoint(b []byte) (c agent.CheckpointRecord, err error) {
	ns, b, err := cutNumber(b)
	if err != nil {
		return c, err
	}
	id, b, err := cutNumber(b)
	if err != nil || len(b) < ns+id {
		return c, errCorrupt
	}
	c.NS, c.ID = string(b[:ns]), string(b[ns:ns+id])
	d := open(b[ns+id:])
	c.ParentID, c.RunID, c.Step, c.Source, c.AtMillis = d.text(), d.text(), int(d.int()), d.text(), d.int()
	c.Metadata, c.State = d.blob(), d.blob()
	return c, d.err
}

// cutNumber takes a number and a colon off b.
func cutNumber(b []byte) (n int, rest []byte, err error) {
	for i, c := range b {
		if c == ':' && i > 0 {
			return n, b[i+1:], nil
		}
		if c < '0' || c > '9' || i > 8 {
			break
		}
		n = n*10 + int(c-'0')
	}
	return 0, nil, errCorrupt
}
