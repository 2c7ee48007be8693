package redis

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/parley-dev/parley/thread"
)

// The statuses of a thread as stored.
var statuses = []thread.Status{thread.Idle, thread.Busy, thread.Interrupted, thread.Failed}

func statusCode(s thread.Status) int {
	for i, v := range statuses {
		if v == s {
			return i
		}
	}
	return -1
}

// row is a thread as scripts tell it, with what is derived from it.
type row struct {
	id                           string
	created, updated             int64
	stateUpdated                 int64
	temporary                    bool
	expires                      int64
	ttl                          string
	status                       int64
	head                         string
	generation, nextSeq, nextPos int64
	ended                        bool
	version, mv                  int64 // of what is derived; of metadata and configuration
	due, retires                 int64 // 0 for never
	metadata, config, err        json.RawMessage
	logBytes                     int64
	stale                        bool // the log's snapshot shows a run that was deleted
	deliveries                   []due
	// before and parts are the versions of parts before the transition and now, 0 without any; changed are those it changed.
	before, parts int64
	changed       []part
	unsealed      int64 // time of the first audit entry that isn't sealed; 0 for none
	leaving       bool  // the thread is deleted, but for its audit chain
}

// due is a webhook and when it is to be sent.
type due struct {
	id string
	at int64
}

func readRow(id string, r *reply) row {
	in := r.inner()
	w := row{id: id, created: in.int(), updated: in.int(), stateUpdated: in.int(), temporary: in.bool(), expires: in.int(), ttl: in.text(),
		status: in.int(), head: in.text(), generation: in.int(), nextSeq: in.int(), nextPos: in.int(), ended: in.bool(),
		version: in.int(), mv: in.int(), due: in.int(), retires: in.int(), metadata: in.blob(), config: in.blob(), err: in.blob()}
	out := in.inner()
	for out.more() {
		w.deliveries = append(w.deliveries, due{id: out.text(), at: out.int()})
	}
	w.stale, w.logBytes = in.bool(), in.int()
	if news := in.inner(); news.more() {
		w.before, w.parts, w.unsealed = news.int(), news.int(), news.int()
		list := news.inner()
		for list.more() {
			w.changed = append(w.changed, takePart(id, &list))
		}
		in.err = errorsFirst(in.err, news.err, list.err)
	}
	if in.err == nil {
		in.err = out.err
	}
	if in.err == nil && (w.status < 0 || int(w.status) >= len(statuses)) {
		in.fail()
	}
	if r.err == nil {
		r.err = in.err
	}
	return w
}

// thread is the row as the contract has it.
func (w row) thread() (thread.Thread, error) {
	t := thread.Thread{
		ID: w.id, CreatedAt: timeOf(w.created), UpdatedAt: timeOf(w.updated), StateUpdatedAt: timeOf(w.stateUpdated),
		Config: w.config, Status: statuses[w.status], Error: w.err, Temporary: w.temporary, ExpiresAt: timeOf(w.expires),
		TTLStrategy: w.ttl, Head: w.head, Generation: w.generation, NextSeq: w.nextSeq, NextPos: w.nextPos, Ended: w.ended,
	}
	if t.Config == nil {
		t.Config = json.RawMessage("{}")
	}
	var err error
	t.Metadata, err = decodeMetadata(w.metadata)
	return t, err
}

func decodeMetadata(b []byte) (thread.Metadata, error) {
	m := thread.Metadata{}
	if len(b) == 0 || string(b) == "{}" {
		return m, nil
	}
	err := json.Unmarshal(b, &m)
	return m, err
}

func encodeMetadata(m thread.Metadata) (json.RawMessage, error) {
	if len(m) == 0 {
		return json.RawMessage("{}"), nil
	}
	return encodeJSON(m)
}

// mergeMetadata is stored metadata with more merged into it.
func mergeMetadata(stored json.RawMessage, more thread.Metadata) (json.RawMessage, error) {
	before, err := decodeMetadata(stored)
	if err != nil {
		return nil, err
	}
	after := maps.Clone(before)
	maps.Copy(after, more)
	if maps.EqualFunc(before, after, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) }) {
		return stored, nil
	}
	return encodeMetadata(after)
}
