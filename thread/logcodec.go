package thread

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/agent"
)

// The stored form of a batch of log entries, the same in every store. A batch
// holds entries of one run with rising positions:
//
//	batch = version, entry…
//	entry = head, position - the one before (uvarint), [seq - the one before (varint)],
//	        time - the one before (varint), namespace unless as before, payload
//
// A delta, of which there are as many as a model gives tokens, is written field by
// field and leaves out what is as in the delta before; other payloads are JSON.
const logVersion = 1

// Bits of an entry's head; the kind's code is in the bits above.
const (
	logHasSeq = 1 << iota
	logSameNS
	logSameMessage // of a delta: id, index and type as in the one before
	logDeltaCall   // of a delta: CallID, Name and CallIndex follow
	logKindShift   = iota
)

// logKinds are the codes of kinds, from 1. Only ever append: they are stored.
var logKinds = []agent.Kind{
	agent.BlockDelta, agent.RunStarted, agent.RunFinished, agent.InputAnswered, agent.CheckpointAnnounced,
	agent.ValuesEmitted, agent.CheckpointSaved, agent.TaskStarted, agent.TaskFinished, agent.UpdatesEmitted,
	agent.NamespaceStarted, agent.NamespaceFinished, agent.InterruptRaised, agent.InterruptBubbled,
	agent.BreakpointHit, agent.CustomWritten, agent.MessageStarted, agent.BlockStarted, agent.BlockFinished,
	agent.MessageFinished, agent.MessageFailed, agent.MessageReset, agent.MessageWhole,
	agent.ToolStarted, agent.ToolOutput, agent.ToolFinished, agent.ToolFailed,
}

// logCodes is the inverse of logKinds; a kind that isn't there is stored by name, under 0.
var logCodes = func() map[agent.Kind]uint64 {
	m := map[agent.Kind]uint64{}
	for i, k := range logKinds {
		m[k] = uint64(i + 1)
	}
	return m
}()

// errLog: a stored batch can't be read.
var errLog = errors.New("thread: stored log entries are damaged")

// logState is what the entry before leaves to the next.
type logState struct {
	pos, seq, at int64
	ns           string
	delta        agent.Delta
}

// entrySize is what most entries of a large batch need, in bytes: they are tokens.
const entrySize = 24

// AppendEntries appends the stored form of a batch to dst. Positions must rise.
func AppendEntries(dst []byte, entries []Entry) ([]byte, error) {
	dst = append(slices.Grow(dst, entrySize*len(entries)+1), logVersion)
	var s logState
	for i := range entries {
		e := &entries[i]
		if e.Pos <= s.pos {
			return nil, fmt.Errorf("thread: log position %d does not follow %d", e.Pos, s.pos)
		}
		var err error
		if dst, err = s.append(dst, e); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func (s *logState) append(dst []byte, e *Entry) ([]byte, error) {
	code := logCodes[e.Event.Kind]
	delta, isDelta := e.Event.Payload.(agent.Delta)
	isDelta = isDelta && e.Event.Kind == agent.BlockDelta
	if e.Event.Kind == agent.BlockDelta && !isDelta {
		code = 0 // a payload of another type goes as JSON, under the kind's name
	}
	head := code << logKindShift
	if e.Seq != 0 {
		head |= logHasSeq
	}
	if e.Event.NS == s.ns {
		head |= logSameNS
	}
	if isDelta {
		if delta.ID == s.delta.ID && delta.Index == s.delta.Index && delta.Type == s.delta.Type {
			head |= logSameMessage
		}
		if delta.CallID != "" || delta.Name != "" || delta.CallIndex != 0 {
			head |= logDeltaCall
		}
	}
	dst = binary.AppendUvarint(dst, head)
	dst = binary.AppendUvarint(dst, uint64(e.Pos-s.pos))
	s.pos = e.Pos
	if e.Seq != 0 {
		dst = binary.AppendVarint(dst, e.Seq-s.seq)
		s.seq = e.Seq
	}
	dst = binary.AppendVarint(dst, e.Event.At-s.at)
	s.at = e.Event.At
	if e.Event.NS != s.ns {
		dst = appendText(dst, e.Event.NS)
		s.ns = e.Event.NS
	}
	if isDelta {
		dst = appendDelta(dst, head, delta)
		s.delta = delta
		return dst, nil
	}
	if code == 0 {
		dst = appendText(dst, string(e.Event.Kind))
	}
	payload, err := agent.EncodePayload(e.Event)
	if err != nil {
		return nil, err
	}
	dst = binary.AppendUvarint(dst, uint64(len(payload)))
	return append(dst, payload...), nil
}

func appendDelta(dst []byte, head uint64, d agent.Delta) []byte {
	if head&logSameMessage == 0 {
		dst = appendText(dst, d.ID)
		dst = binary.AppendVarint(dst, int64(d.Index))
		dst = appendText(dst, d.Type)
	}
	if head&logDeltaCall != 0 {
		dst = appendText(dst, d.CallID)
		dst = appendText(dst, d.Name)
		dst = binary.AppendVarint(dst, int64(d.CallIndex))
	}
	return appendText(dst, d.Text)
}

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// DecodeEntries appends the entries of a stored batch with Pos > after to dst.
func DecodeEntries(dst []Entry, batch []byte, runID string, after int64) ([]Entry, error) {
	if len(batch) == 0 || batch[0] != logVersion {
		return dst, errLog
	}
	r := logReader{b: batch[1:], text: string(batch[1:])}
	var s logState
	for len(r.b) > 0 {
		e := Entry{RunID: runID}
		payload, skipped := s.next(&r, &e, after)
		if r.err != nil {
			return dst, r.err
		}
		if skipped {
			continue
		}
		if payload != nil {
			p, err := agent.DecodePayload(e.Event.Kind, payload)
			if err != nil {
				return dst, err
			}
			e.Event.Payload = p
		}
		dst = append(dst, e)
	}
	return dst, nil
}

// next reads one entry; the payload is returned undecoded, unless it is a delta's.
func (s *logState) next(r *logReader, e *Entry, after int64) (payload []byte, skipped bool) {
	head := r.uint()
	s.pos += int64(r.uint())
	if head&logHasSeq != 0 {
		s.seq += r.int()
		e.Seq = s.seq
	}
	s.at += r.int()
	if head&logSameNS == 0 {
		s.ns = r.string()
	}
	e.Pos, e.Event.At, e.Event.NS = s.pos, s.at, s.ns
	code := head >> logKindShift
	switch {
	case code == 0:
		e.Event.Kind = agent.Kind(r.string())
	case code <= uint64(len(logKinds)):
		e.Event.Kind = logKinds[code-1]
	default:
		r.err = errLog
		return nil, true
	}
	if code == 1 {
		s.delta = r.delta(head, s.delta)
		e.Event.Payload = s.delta
		return nil, e.Pos <= after
	}
	payload = r.view()
	if len(payload) == 0 {
		payload = nil
	}
	return payload, e.Pos <= after
}

// logReader reads fields; the first error stays. Text fields share the memory of
// one copy of the batch.
type logReader struct {
	b    []byte
	text string
	err  error
}

func (r *logReader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.err = nil, errLog
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *logReader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.b, r.err = nil, errLog
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *logReader) view() []byte {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.b, r.err = nil, errLog
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *logReader) string() string {
	n := len(r.view())
	end := len(r.text) - len(r.b)
	return r.text[end-n : end]
}

func (r *logReader) delta(head uint64, before agent.Delta) agent.Delta {
	d := agent.Delta{ID: before.ID, Index: before.Index, Type: before.Type}
	if head&logSameMessage == 0 {
		d.ID, d.Index, d.Type = r.string(), int(r.int()), r.string()
	}
	if head&logDeltaCall != 0 {
		d.CallID, d.Name, d.CallIndex = r.string(), r.string(), int(r.int())
	}
	d.Text = r.string()
	return d
}
