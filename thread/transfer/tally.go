package transfer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Kinds are the kinds of records that are counted, in the order in which they are told.
var Kinds = []string{
	"assistants", "items", "crons", "threads", "runs", "checkpoints", "tasks", "questions", "steps", "blobs", "segments", "log batches", "keys", "deliveries",
	"reviews", "audit entries", "API keys",
}

// told is how people are told of a kind: files of backups keep the short names.
func told(kind string) string {
	switch kind {
	case "keys":
		return "idempotency keys"
	case "API keys": // the server's own records are among them
		return "API keys and records"
	}
	return kind
}

// Sum is what a part of a dump comes to: how many records, how large, and a digest
// that doesn't depend on their order.
type Sum struct {
	Count  int64     `json:"count"`
	Bytes  int64     `json:"bytes"`
	Digest [4]uint64 `json:"digest"`
}

func (s *Sum) add(thread string, b []byte) {
	h := sha256.New()
	_, _ = h.Write([]byte(thread + "\x00")) // a hash takes everything
	_, _ = h.Write(b)
	d := h.Sum(nil)
	s.Count++
	s.Bytes += int64(len(b))
	for i := range s.Digest {
		s.Digest[i] += binary.BigEndian.Uint64(d[8*i:])
	}
}

// Tally are the sums of a dump by kind of record.
type Tally struct {
	Sums   map[string]Sum
	thread string // that is under way
}

// Add counts a record, which must come in the dump's order.
func (t *Tally) Add(r *Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return t.add(r, b)
}

// add is Add with the record as it is encoded.
func (t *Tally) add(r *Record, b []byte) error {
	kind, err := r.kind()
	if err != nil {
		return err
	}
	switch {
	case r.Thread != nil:
		if t.thread != "" {
			return fmt.Errorf("transfer: thread %s begins in thread %s", r.Thread.ID, t.thread)
		}
		t.thread = r.Thread.ID
	case r.End != nil:
		if r.End.ID != t.thread {
			return fmt.Errorf("transfer: thread %s ends in thread %s", r.End.ID, t.thread)
		}
		t.thread = ""
		return nil
	case r.Audit != nil: // of a thread that is left, or of none
		if r.Audit.Thread != t.thread && t.thread != "" {
			return fmt.Errorf("transfer: an audit entry of thread %s in thread %s", r.Audit.Thread, t.thread)
		}
	case (r.Assistant == nil && r.Item == nil && r.Cron == nil && r.APIKey == nil) == (t.thread == ""):
		return fmt.Errorf("transfer: a record of %s is out of place", kind)
	}
	if t.Sums == nil {
		t.Sums = map[string]Sum{}
	}
	s := t.Sums[kind]
	s.add(t.thread, b)
	t.Sums[kind] = s
	return nil
}

// kind is the name of what a record counts as.
func (r *Record) kind() (kind string, err error) {
	n := 0
	for i, set := range []bool{
		r.Assistant != nil, r.Item != nil, r.Cron != nil, r.Thread != nil, r.Run != nil, r.Checkpoint != nil, r.Task != nil,
		r.Question != nil, r.Step != nil, r.Blob != nil, r.Segment != nil, r.Log != nil, r.Key != nil, r.Delivery != nil,
		r.Review != nil, r.Audit != nil, r.APIKey != nil,
	} {
		if set {
			kind = Kinds[i]
			n++
		}
	}
	if r.End != nil {
		n++
	}
	if n != 1 {
		return "", errors.New("transfer: a record is not of one kind")
	}
	return kind, nil
}

// Differences says where two tallies differ; "" when they are equal.
func (t *Tally) Differences(other *Tally) string {
	var all []string
	for _, kind := range Kinds {
		a, b := t.Sums[kind], other.Sums[kind]
		switch {
		case a.Count != b.Count:
			all = append(all, fmt.Sprintf("%d %s, not %d", b.Count, told(kind), a.Count))
		case a != b:
			all = append(all, told(kind)+" differ")
		}
	}
	return strings.Join(all, "; ")
}

// String lists what there is.
func (t *Tally) String() string {
	var all []string
	for _, kind := range Kinds {
		if s := t.Sums[kind]; s.Count > 0 {
			all = append(all, fmt.Sprintf("%d %s", s.Count, told(kind)))
		}
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}
