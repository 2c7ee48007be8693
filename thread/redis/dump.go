package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/transfer"
)

// dumpBatch is how many fields of a hash are read at once.
const dumpBatch = 100

// Dump implements transfer.Source. Redis has no snapshots, so nobody may work on the
// store meanwhile: transfer.ErrInUse while servers are connected, or a run is leased.
func (s *Store) Dump(ctx context.Context, emit func(*transfer.Record) error) error {
	if err := s.unused(ctx); err != nil {
		return err
	}
	for n := range s.keys.shards { // what dead writers left
		if err := s.sweepAll(ctx, n); err != nil {
			return err
		}
	}
	if _, err := s.SealAudit(ctx); err != nil {
		return err
	}
	for _, part := range []func(context.Context, func(*transfer.Record) error) error{s.dumpAssistants, s.dumpItems, s.dumpCrons, s.dumpKeys, s.dumpAudit} {
		if err := part(ctx, emit); err != nil {
			return err
		}
	}
	for n := range s.keys.shards {
		ids, err := s.client.HKeys(ctx, s.keys.entries(n)).Result()
		if err != nil {
			return err
		}
		slices.Sort(ids)
		for _, id := range ids {
			d := dump{s: s, ctx: ctx, id: id, keys: s.keys.thread(id), emit: emit}
			if err := d.thread(); err != nil {
				return fmt.Errorf("thread %s: %w", id, err)
			}
		}
	}
	return s.unused(ctx)
}

// unused refuses a store that servers are connected to: each listens on the control channel.
func (s *Store) unused(ctx context.Context) error {
	var mu sync.Mutex
	var listeners int64
	count := func(ctx context.Context, c *rds.Client) error {
		n, err := c.PubSubNumSub(ctx, s.keys.control()).Result()
		mu.Lock()
		defer mu.Unlock()
		listeners += n[s.keys.control()]
		return err
	}
	var err error
	switch c := s.client.(type) {
	case *rds.ClusterClient:
		err = c.ForEachShard(ctx, count)
	case *rds.Client:
		err = count(ctx, c)
	}
	if err == nil && listeners > 0 {
		err = fmt.Errorf("%w: servers are connected (%d); stop them first", transfer.ErrInUse, listeners)
	}
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return nil
}

// sweepAll reconciles all marked threads of a shard: nobody is under way.
func (s *Store) sweepAll(ctx context.Context, n int) error {
	for {
		marks, err := s.client.ZCard(ctx, s.keys.dirty(n)).Result()
		if err != nil || marks == 0 {
			return err
		}
		if err := s.sweepShard(ctx, n, 0); err != nil {
			return err
		}
	}
}

func (s *Store) dumpAssistants(ctx context.Context, emit func(*transfer.Record) error) error {
	r := s.eval(ctx, "assistants", s.keys.assistants(), "", false)
	for r.more() {
		a := &transfer.Assistant{ID: r.text(), Version: r.int(), Created: r.int(), Updated: r.int()}
		r.int() // how often it was changed
		r.blob()
		versions := s.eval(ctx, "assistants", s.keys.assistants(), a.ID, true)
		for versions.more() {
			versions.text()
			v := transfer.AssistantVersion{Version: versions.int(), At: versions.int()}
			versions.int()
			versions.int()
			v.Doc = versions.blob()
			a.Versions = append(a.Versions, v)
		}
		slices.Reverse(a.Versions)
		if versions.err != nil {
			return versions.err
		}
		if r.err != nil {
			break
		}
		if err := emit(&transfer.Record{Assistant: a}); err != nil {
			return err
		}
	}
	return r.err
}

func (s *Store) dumpItems(ctx context.Context, emit func(*transfer.Record) error) error {
	for n := range s.keys.shards {
		for behind := ""; ; {
			r := s.eval(ctx, "exportitems", s.keys.items(n), behind, itemsBatch)
			behind = r.text()
			for r.more() {
				in := r.inner()
				it := &transfer.Item{Namespace: splitLabels(in.text()), Key: in.text(), Value: in.blob(), Created: in.int(), Updated: in.int(), TTL: in.int(), Expires: in.int()}
				if in.err != nil {
					return in.err
				}
				if err := emit(&transfer.Record{Item: it}); err != nil {
					return err
				}
			}
			if r.err != nil {
				return r.err
			}
			if behind == "" {
				break
			}
		}
	}
	return nil
}

func (s *Store) dumpCrons(ctx context.Context, emit func(*transfer.Record) error) error {
	r := s.eval(ctx, "crons", s.keys.crons(), "", 0)
	for r.more() {
		next, doc := r.int(), r.blob()
		if r.err != nil {
			break
		}
		var c thread.Cron
		if err := json.Unmarshal(doc, &c); err != nil {
			return err
		}
		if err := emit(&transfer.Record{Cron: &transfer.Cron{ID: c.ID, Next: next, Enabled: c.Enabled, Doc: doc}}); err != nil {
			return err
		}
	}
	return r.err
}

// dump is the dump of a thread under way.
type dump struct {
	s    *Store
	ctx  context.Context //nolint:containedctx // of the one call
	id   string
	keys []string
	emit func(*transfer.Record) error
}

// key is the name of one of the thread's keys.
func (d dump) key(name string) string { return d.keys[slices.Index(threadKeyNames, name)] }

func (d dump) thread() error {
	head, err := d.s.client.HGetAll(d.ctx, d.key("head")).Result()
	if err != nil || head["created"] == "" {
		return err // an entry of the index without its thread
	}
	h := headFields(head)
	r := d.s.eval(d.ctx, "export", d.keys, "details")
	t := &transfer.Thread{
		ID: d.id, Created: h.int("created"), Updated: h.int("updated"), Metadata: r.blob(), Config: r.blob(), Error: r.blob(),
		Temporary: h.int("temp") != 0, Expires: h.int("expires"), TTL: h["ttl"],
		Status: h.status("status"), Rest: h.status("rest"), StateUpdated: h.int("supdated"), Head: h["head"], Generation: h.int("gen"), Ended: h.int("ended") != 0,
		NextSeq: h.int("nseq"), NextPos: h.int("npos"), EndSeq: h.int("nseq") - 1, EndPos: h.int("npos") - 1, Token: h.int("token"),
		Runs: h.int("runs"), Checkpoints: h.int("cps"), Asked: h.int("asked"), Suspended: h.int("suspended"), LastCommit: h["commit"],
	}
	canceller, owed, snapshot := r.blob(), r.inner(), r.inner()
	for entry := range strings.FieldsSeq(h["queue"]) {
		run, at, _ := strings.Cut(entry, ":")
		q := headFields{"run": run, "at": at}
		t.Queue = append(t.Queue, transfer.Queued{Run: q.int("run"), At: q.int("at")})
	}
	if h.int("running") != 0 {
		if t.Running, err = d.running(h, &owed); err != nil {
			return err
		}
		t.EndSeq, t.EndPos, t.Running.CancelledBy = h.int("seq"), h.int("pos"), canceller
	}
	if r.err != nil {
		return r.err
	}
	if err := d.emit(&transfer.Record{Thread: t}); err != nil {
		return err
	}
	for snapshot.more() {
		in := snapshot.inner()
		b := &transfer.Log{Snapshot: true, Run: in.text(), First: in.int(), Last: in.int(), Data: in.blob()}
		if in.err != nil {
			return in.err
		}
		if err := d.emit(&transfer.Record{Log: b}); err != nil {
			return err
		}
	}
	for _, part := range []func() error{d.blobs, d.segments, d.checkpoints, d.tasks, d.questions, d.reviews, d.audit, d.steps, d.log, d.runs, d.outbox} {
		if err := part(); err != nil {
			return err
		}
	}
	return d.emit(&transfer.Record{End: &transfer.End{ID: d.id}})
}

// headFields are the fields of a head; those that are 0 or empty are missing.
type headFields map[string]string

func (h headFields) int(name string) int64 {
	n, _ := strconv.ParseInt(h[name], 10, 64) // scripts write nothing else
	return n
}

func (h headFields) status(name string) string {
	if n := h.int(name); n >= 0 && int(n) < len(statuses) {
		return string(statuses[n])
	}
	return ""
}

// running is the run that has been claimed; ErrInUse while a lease of it is valid.
func (d dump) running(h headFields, owed *reply) (*transfer.Running, error) {
	now, err := d.s.client.Time(d.ctx).Result()
	if err != nil {
		return nil, err
	}
	if due := timeOf(h.int("due")); h.int("released") == 0 && due.After(now) {
		return nil, fmt.Errorf("redis: %w: run %s is leased by %s until %s", transfer.ErrInUse, h["runid"], h["worker"], due.Format(time.RFC3339))
	}
	r := &transfer.Running{Run: h.int("running"), ID: h["runid"], Attempt: h.int("attempt"), Lost: h.int("lost"), Released: h.int("released") != 0,
		FrameBase: h.int("fbase"), FrameReserved: h.int("freserved"), Cancel: h["cancel"], Started: h.int("started"), Base: h["base"], BaseRest: h.status("baserest"),
		StartSeq: h.int("sseq"), StartPos: h.int("spos"), LogFrom: h.int("logfrom")}
	for owed.more() {
		in := owed.inner()
		o := transfer.Owed{ID: in.text()}
		b := thread.FloatingBatch{Head: in.blob(), Middle: in.blob(), Tail: in.blob(), Entries: in.int(), Numbered: in.int(), Millis: in.int()}
		if in.err != nil {
			return nil, in.err
		}
		entries, err := thread.DecodeEntries(nil, b.At(1, 1), o.ID, 0)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			switch p := e.Event.Payload.(type) {
			case agent.RunStart:
				o.Graph, o.Assistant, o.At = p.GraphID, p.AssistantID, e.Event.At
			case agent.RunFinish:
				o.Action = p.Cancel
			}
		}
		r.Owed = append(r.Owed, o)
	}
	return r, owed.err
}

// fields calls f with the fields of a hash whose names begin with a prefix, in their order.
func (d dump) fields(key, prefix string, f func(name, value string) error) error {
	names, err := d.names(key, prefix)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(names, dumpBatch) {
		values, err := d.s.client.HMGet(d.ctx, d.key(key), part...).Result()
		if err != nil {
			return err
		}
		for i, v := range values {
			text, ok := v.(string)
			if !ok {
				return fmt.Errorf("redis: %s %s went away: %w", key, part[i], transfer.ErrInUse)
			}
			if err := f(part[i], text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d dump) names(key, prefix string) ([]string, error) {
	names, err := d.s.client.HKeys(d.ctx, d.key(key)).Result()
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, prefix) })
	slices.Sort(names)
	return names, err
}

func (d dump) blobs() error {
	return d.fields("blobs", "", func(name, value string) error {
		return d.emit(&transfer.Record{Blob: &transfer.Blob{ID: name, Data: transfer.Raw(value)}})
	})
}

func (d dump) segments() error {
	return d.fields("segments", "#", func(name, value string) error {
		count, rest, _ := strings.Cut(value, " ")
		length, base, _ := strings.Cut(rest, " ")
		h := headFields{"count": count, "len": length}
		id, n := name[1:], int(h.int("count"))
		for from := 0; from == 0 || from < n; from += transfer.SegmentPart {
			part := &transfer.Segment{ID: id, Base: base, BaseLen: h.int("len"), From: int64(from)}
			var names []string
			for i := from; i < min(from+transfer.SegmentPart, n); i++ {
				names = append(names, "@"+id+":"+strconv.Itoa(i))
			}
			if len(names) > 0 {
				values, err := d.s.client.HMGet(d.ctx, d.key("segments"), names...).Result()
				if err != nil {
					return err
				}
				for i, v := range values {
					text, ok := v.(string)
					if !ok {
						return fmt.Errorf("redis: entry %s of a list is missing", names[i])
					}
					part.Entries = append(part.Entries, transfer.Raw(text))
				}
			}
			if err := d.emit(&transfer.Record{Segment: part}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d dump) checkpoints() error {
	return d.fields("checkpoints", "", func(name, value string) error {
		seq, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return nil //nolint:nilerr // one that finds a checkpoint by its id
		}
		c, err := decodeCheckpoint([]byte(value))
		if err != nil {
			return err
		}
		return d.emit(&transfer.Record{Checkpoint: &transfer.Checkpoint{Seq: seq, NS: c.NS, ID: c.ID, Parent: c.ParentID, Run: c.RunID,
			Step: int64(c.Step), Source: c.Source, AtMillis: c.AtMillis, Metadata: c.Metadata, State: c.State}})
	})
}

// member splits the name of a record of a family (scripts/lib/family.lua).
func member(field string) (name, member string, err error) {
	n, rest, err := cutNumber([]byte(strings.TrimPrefix(field, "=")))
	if err != nil || len(rest) < n {
		return "", "", errCorrupt
	}
	return string(rest[:n]), string(rest[n:]), nil
}

func (d dump) tasks() error {
	return d.fields("tasks", "=", func(field, value string) error {
		checkpoint, task, err := member(field)
		if err != nil {
			return err
		}
		t := agent.TaskRecord{CheckpointID: checkpoint, TaskID: task}
		if err := decodeTask([]byte(value), &t); err != nil {
			return err
		}
		return d.emit(&transfer.Record{Task: transfer.TaskOf(t)})
	})
}

func (d dump) steps() error {
	return d.fields("steps", "=", func(field, value string) error {
		origin, _, err := member(field)
		if err != nil {
			return err
		}
		step := agent.StepRecord{Origin: origin}
		if err := decodeStep([]byte(value), &step); err != nil {
			return err
		}
		return d.emit(&transfer.Record{Step: transfer.StepOf(step)})
	})
}

// exported calls f with what the script tells of each of the ids.
func (d dump) exported(what string, ids []string, f func(in *reply) error) error {
	for part := range slices.Chunk(ids, dumpBatch) {
		args := []any{what}
		for _, id := range part {
			args = append(args, id)
		}
		r := d.s.eval(d.ctx, "export", d.keys, args...)
		for r.more() {
			in := r.inner()
			if err := f(&in); err != nil {
				return err
			}
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// questionStatuses are the statuses of questions as stored (scripts/lib/questions.lua).
var questionStatuses = map[string]string{"p": transfer.Pending, "a": transfer.Answered, "x": transfer.Superseded}

func (d dump) questions() error {
	ids, err := d.names("questions", "s")
	if err != nil {
		return err
	}
	for i := range ids {
		ids[i] = ids[i][1:]
	}
	return d.exported("questions", ids, func(in *reply) error {
		q := &transfer.Question{ID: in.text(), Status: questionStatuses[in.text()]}
		doc, asked, answer := in.blob(), in.inner(), in.inner()
		if asked.more() {
			q.NS, q.Checkpoint, q.Task, q.Run, q.Generation, q.Created = asked.text(), asked.text(), asked.text(), asked.text(), asked.int(), asked.int()
			var info agent.InterruptInfo
			if err := decodeQuestion(doc, &info); err != nil {
				return err
			}
			q.Value, q.Schema = transfer.Raw(info.Value), transfer.Raw(info.ResponseSchema)
		}
		if answer.more() {
			q.Answer = &transfer.Answer{Value: answer.blob(), By: answer.text(), At: answer.int(), Run: answer.text(), Fingerprint: answer.text()}
		}
		if err := errorsFirst(in.err, asked.err, answer.err); err != nil {
			return err
		}
		return d.emit(&transfer.Record{Question: q})
	})
}

func (d dump) log() error {
	for from := "-"; ; {
		batches, err := d.s.client.XRangeN(d.ctx, d.key("log"), from, "+", dumpBatch).Result()
		if err != nil {
			return err
		}
		for _, m := range batches {
			b := &transfer.Log{}
			var seq, count int64
			first, _, _ := strings.Cut(m.ID, "-")
			head, _ := m.Values["h"].(string)
			b.Run, _ = m.Values["r"].(string)
			data, _ := m.Values["d"].(string)
			b.Data = transfer.Raw(data)
			if b.First, err = strconv.ParseInt(first, 10, 64); err != nil {
				return err
			}
			if _, err := fmt.Sscan(head, &b.Last, &seq, &count, &b.Owner); err != nil {
				return err
			}
			if err := d.emit(&transfer.Record{Log: b}); err != nil {
				return err
			}
			from = "(" + m.ID
		}
		if len(batches) < dumpBatch {
			return nil
		}
	}
}

func (d dump) runs() error {
	ids, err := d.s.client.ZRange(d.ctx, d.key("order"), 0, -1).Result()
	if err != nil {
		return err
	}
	err = d.exported("runs", ids, func(in *reply) error {
		doc, failure, retires := in.blob(), in.blob(), in.int()
		w := map[string]any{}
		for in.more() {
			name := in.text()
			w[name] = in.value()
		}
		if in.err != nil {
			return in.err
		}
		text := func(name string) string { v, _ := w[name].(string); return v }
		number := func(name string) int64 { return headFields{"": text(name)}.int("") }
		status := number("status")
		if status < 0 || int(status) >= len(runStatuses) {
			return errReply
		}
		if number("over") != 0 {
			retires = 1
		}
		run := &transfer.Run{Number: number("number"), ID: text("id"), Status: string(runStatuses[status]), Execution: text("execution"),
			Created: number("created"), Updated: number("updated"), Started: number("started"), Ended: number("ended"), NotBefore: number("notbefore"),
			Attempt: number("attempt"), Cancel: text("cancel"), Suspended: number("suspended") != 0, Error: failure, Base: text("base"),
			LogFrom: number("logfrom"), Retires: retires, Fingerprint: text("fingerprint"), LastCommit: text("commit"), Writes: number("writes") != 0}
		if err := run.TakeDoc(doc); err != nil {
			return err
		}
		return d.emit(&transfer.Record{Run: run})
	})
	if err != nil {
		return err
	}
	return d.fields("idempotent", "", func(key, value string) error {
		i := strings.LastIndexByte(value, ' ')
		if i < 0 {
			return errCorrupt
		}
		if !slices.Contains(ids, value[:i]) { // of a run that was removed it means nothing
			return nil
		}
		return d.emit(&transfer.Record{Key: &transfer.Key{Key: key, Run: value[:i], Expires: headFields{"": value[i+1:]}.int("")}})
	})
}

func (d dump) outbox() error {
	r := d.s.eval(d.ctx, "export", d.keys, "outbox")
	for r.more() {
		in := r.inner()
		out := &transfer.Delivery{ID: in.text(), Run: in.text(), URL: in.text(), Attempt: in.int(), Due: in.int(), Error: in.text(),
			Event: in.text(), Interrupt: in.text(), Dead: in.bool()}
		if in.err != nil {
			return in.err
		}
		if err := d.emit(&transfer.Record{Delivery: out}); err != nil {
			return err
		}
	}
	return r.err
}
