package local

import (
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// unbegun is a run that was dropped before it began. Its beginning and its end
// are told in the log, as those of every run (M-19): at once when nothing runs,
// else, since only the owner of the run that is leased may write there
// (decisions 2), in the transition with which that one ends.
type unbegun struct {
	run              int64  // its number
	id               string // its row may be gone by then
	graph, assistant string
	action           string // of the cancel
	at               int64
}

func encodeOwed(list []unbegun) []byte {
	var e enc
	for _, u := range list {
		e.int(u.run)
		e.text(u.id)
		e.text(u.graph)
		e.text(u.assistant)
		e.text(u.action)
		e.int(u.at)
	}
	return e
}

func decodeOwed(b []byte) (list []unbegun, err error) {
	for d := (dec{b: b}); len(d.b) > 0; {
		list = append(list, unbegun{run: d.int(), id: d.text(), graph: d.text(), assistant: d.text(), action: d.text(), at: d.int()})
		if d.err != nil {
			return nil, d.err
		}
	}
	return list, nil
}

// dropped tells of the pending run w, which will never begin; its row has been
// ended or removed. It returns what the log got, nothing while a run is leased.
// The caller saves h.
func (h *head) dropped(c *conn, w runRow, action string, at time.Time) ([]thread.Entry, error) {
	var d runDoc
	if err := json.Unmarshal(w.doc, &d); err != nil {
		return nil, err
	}
	if err := h.leave(c, d.Kwargs, at); err != nil {
		return nil, err
	}
	if url := d.Kwargs.Webhook; url != "" && action != "rollback" { // of a run that is removed there is nothing to say
		if err := putDelivery(c, thread.Delivery{ID: w.id, ThreadID: w.thread, RunID: w.id, URL: url, Due: at}); err != nil {
			return nil, err
		}
	}
	u := unbegun{run: number(w.k, runBits), id: w.id, graph: d.Graph, assistant: d.Assistant, action: action, at: micros(at)}
	if h.running != 0 {
		h.owed = append(h.owed, u)
		return nil, nil
	}
	return h.tellUnbegun(c, u)
}

// leave makes the thread due for removal if it was made for one stateless run.
func (h *head) leave(c *conn, k thread.RunKwargs, at time.Time) error {
	if !k.Temporary || k.OnCompletion == "keep" {
		return nil
	}
	return h.expire(c, at)
}

// tellOwed tells of the runs that were dropped while the one that has just ended
// was leased, behind what that one wrote.
func (h *head) tellOwed(c *conn) (told []thread.Entry, err error) {
	for _, u := range h.owed {
		entries, err := h.tellUnbegun(c, u)
		if err != nil {
			return nil, err
		}
		told = append(told, entries...)
	}
	h.owed = nil
	return told, nil
}

func (h *head) tellUnbegun(c *conn, u unbegun) ([]thread.Entry, error) {
	return h.append(c, u.run, u.id, thread.Unbegun(u.graph, u.assistant, u.action, timeOf(u.at)))
}

// append writes events of a run that isn't running to the log. A run whose row is
// gone keeps its name there.
func (h *head) append(c *conn, run int64, id string, events []agent.Event) ([]thread.Entry, error) {
	entries := make([]thread.Entry, len(events))
	for i, e := range events {
		entries[i] = thread.Entry{Pos: h.nextPos, RunID: id, Event: e}
		h.nextPos++
		if e.Kind.Numbered() {
			entries[i].Seq = h.nextSeq
			h.nextSeq++
		}
	}
	batch, err := encodeLog(entries)
	if err != nil {
		return nil, err
	}
	if id == "" {
		return entries, batch.put(c, h.k, outsideRuns)
	}
	n, err := c.exec(`UPDATE runs SET log_from=? WHERE k=? AND log_from=0`, batch.first, within(h.k, runBits, run))
	switch {
	case err != nil:
		return nil, err
	case n == 0:
		return entries, batch.putOwned(c, h.k, outsideRuns, id)
	}
	return entries, batch.put(c, h.k, run)
}
