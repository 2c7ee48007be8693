package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/transfer"
)

// Target loads a store with what another one, or a file, has. It implements transfer.Target.
type Target struct {
	*Store
	t *loading // nil between threads
}

var _ transfer.Target = (*Target)(nil)

// NewTarget returns the store as a target; it must be opened with Options.Unfinished.
func NewTarget(s *Store) *Target { return &Target{Store: s} }

// Fields of the settings: that the store is being loaded, and with which thread.
const (
	loadingSetting       = "loading"
	loadingThreadSetting = "loading-thread"
)

// finished refuses a store whose load was begun and not ended.
func (s *Store) finished(ctx context.Context) error {
	loading, err := s.client.HExists(ctx, s.keys.settings(), loadingSetting).Result()
	if err == nil && loading {
		err = transfer.ErrUnfinished
	}
	return err
}

// BeginLoad implements transfer.Target.
func (l *Target) BeginLoad(ctx context.Context) error {
	if err := l.unused(ctx); err != nil {
		return err
	}
	err := l.finished(ctx)
	switch {
	case err == nil:
		if err := l.empty(ctx); err != nil {
			return err
		}
	case !errors.Is(err, transfer.ErrUnfinished):
		return err
	}
	if err := l.client.HSet(ctx, l.keys.settings(), loadingSetting, "1").Err(); err != nil {
		return err
	}
	return l.clear(ctx)
}

// empty refuses a store with content. The system's own assistants don't count: every server makes them.
func (l *Target) empty(ctx context.Context) error {
	has := func(what string) error { return fmt.Errorf("redis: %w: it has %s", transfer.ErrNotEmpty, what) }
	for n := range l.keys.shards {
		threads, err := l.client.HLen(ctx, l.keys.entries(n)).Result()
		if err == nil && threads > 0 {
			err = has("threads")
		}
		if err == nil {
			var items int64
			if items, err = l.client.HLen(ctx, l.keys.items(n)[0]).Result(); err == nil && items > 0 {
				err = has("items")
			}
		}
		if err != nil {
			return err
		}
	}
	for i, what := range []string{"audit entries", "", "API keys"} { // how far chains are sealed says nothing by itself
		n, err := l.client.HLen(ctx, l.keys.projects()[i]).Result()
		if err == nil && n > 0 && what != "" {
			err = has(what)
		}
		if err != nil {
			return err
		}
	}
	crons, err := l.client.HLen(ctx, l.keys.crons()[0]).Result()
	if err == nil && crons > 0 {
		err = has("crons")
	}
	if err != nil {
		return err
	}
	list, err := l.readAssistants(ctx, "", false)
	for _, a := range list {
		if err == nil && a.ID != thread.SystemAssistantID(a.GraphID) {
			err = has("assistants")
		}
	}
	return err
}

// clear removes what is there: the system's assistants, and what an unfinished load left.
func (l *Target) clear(ctx context.Context) error {
	if id, err := l.client.HGet(ctx, l.keys.settings(), loadingThreadSetting).Result(); err == nil && id != "" {
		if err := l.client.Unlink(ctx, l.keys.thread(id)...).Err(); err != nil {
			return err
		}
	}
	for n := range l.keys.shards {
		ids, err := l.client.HKeys(ctx, l.keys.entries(n)).Result()
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := l.DeleteThread(ctx, id); err != nil && !isNotFound(err) {
				return err
			}
			if err := l.reconcile(ctx, id, ""); err != nil {
				return err
			}
		}
		if err := l.client.Unlink(ctx, l.keys.items(n)...).Err(); err != nil {
			return err
		}
	}
	if err := l.client.Unlink(ctx, l.keys.crons()...).Err(); err != nil {
		return err
	}
	projects, err := l.client.HKeys(ctx, l.keys.projects()[0]).Result()
	if err != nil {
		return err
	}
	all := l.keys.projects()
	for _, project := range projects {
		all = append(all, l.keys.projectAudit(project))
	}
	if err := l.client.Unlink(ctx, all...).Err(); err != nil {
		return err
	}
	return l.client.Unlink(ctx, l.keys.assistants()...).Err()
}

// EndLoad implements transfer.Target.
func (l *Target) EndLoad(ctx context.Context) error {
	return l.client.HDel(ctx, l.keys.settings(), loadingSetting, loadingThreadSetting).Err()
}

// Load implements transfer.Target.
func (l *Target) Load(ctx context.Context, r *transfer.Record) error {
	switch {
	case r.Assistant != nil:
		a := r.Assistant
		args := []any{a.ID, a.Version, a.Created, a.Updated}
		for _, v := range a.Versions {
			args = append(args, v.Version, v.At, []byte(v.Doc))
		}
		reply := l.eval(ctx, "loadassistant", l.keys.assistants(), args...)
		return reply.err
	case r.Item != nil:
		it := r.Item
		ns, err := joinLabels(it.Namespace)
		if err != nil {
			return err
		}
		reply := l.eval(ctx, "loaditem", l.keys.items(l.itemShard(it.Namespace)), ns, it.Key, []byte(it.Value), it.Created, it.Updated, it.TTL, it.Expires)
		return reply.err
	case r.Cron != nil:
		reply := l.cron(ctx, "put", r.Cron.ID, r.Cron.Next, r.Cron.Enabled, []byte(r.Cron.Doc))
		return reply.err
	case r.APIKey != nil:
		return l.loadKey(ctx, r.APIKey)
	case r.Audit != nil:
		return l.loadAudit(ctx, r.Audit)
	case r.Thread != nil:
		l.t = &loading{questions: map[string]*transfer.Question{}, s: l.Store, d: r.Thread, keys: l.keys.thread(r.Thread.ID), checkpoints: map[string]int64{}, of: map[string][2]int64{}, logs: map[int64]*runLog{}}
		return l.client.HSet(ctx, l.keys.settings(), loadingThreadSetting, r.Thread.ID).Err()
	case r.End != nil:
		t := l.t
		l.t = nil
		return t.end(ctx)
	}
	args, err := l.t.args(r)
	if err != nil {
		return err
	}
	return l.t.put(ctx, args, r.Size())
}

// What one call of the script takes.
const (
	loadArgs  = 4000
	loadBytes = 1 << 20
)

// loading is a thread that is being loaded.
type loading struct {
	s    *Store
	d    *transfer.Thread
	keys []string

	pending []any
	size    int

	// What rows of runs and edits tell of others.
	checkpoints map[string]int64    // sequences by namespace and id
	of          map[string][2]int64 // first and last of a run
	logs        map[int64]*runLog   // by the run's number
	logBytes    int64
	snapshot    []any // batches, as adopt takes them
	batches     int
	runs        []*call                       // that make the thread their owner
	questions   map[string]*transfer.Question // by id
	chain       string                        // hash of the first audit entry
}

// runLog is the log of a run.
type runLog struct{ last, seq, bytes int64 }

// put collects arguments of the script.
func (l *loading) put(ctx context.Context, args []any, size int) error {
	l.pending = append(l.pending, args...)
	l.size += size
	if len(l.pending) < loadArgs && l.size < loadBytes {
		return nil
	}
	return l.flush(ctx)
}

func (l *loading) flush(ctx context.Context) error {
	if len(l.pending) == 0 {
		return nil
	}
	r := l.s.eval(ctx, "load", l.keys, l.pending...)
	l.pending, l.size = nil, 0
	return r.err
}

// args are the arguments of a part.
func (l *loading) args(r *transfer.Record) ([]any, error) {
	switch {
	case r.Blob != nil:
		return []any{"blob", r.Blob.ID, []byte(r.Blob.Data)}, nil
	case r.Segment != nil:
		p := r.Segment
		args := []any{"segment", p.ID, p.Base, p.BaseLen, p.From, len(p.Entries)}
		for _, e := range p.Entries {
			args = append(args, []byte(e))
		}
		return args, nil
	case r.Checkpoint != nil:
		c := r.Checkpoint
		l.checkpoints[c.NS+"\n"+c.ID] = c.Seq
		if at, known := l.of[c.Run]; !known {
			l.of[c.Run] = [2]int64{c.Seq, c.Seq}
		} else {
			l.of[c.Run] = [2]int64{min(at[0], c.Seq), max(at[1], c.Seq)}
		}
		return []any{"checkpoint", c.Seq, encodeCheckpoint(c.Record())}, nil
	case r.Task != nil:
		rec := r.Task.Record()
		return []any{"task", rec.CheckpointID, rec.TaskID, encodeTask(rec)}, nil
	case r.Step != nil:
		rec := r.Step.Record()
		return []any{"step", rec.Origin, stepMember(rec), encodeStep(rec)}, nil
	case r.Question != nil:
		l.questions[r.Question.ID] = r.Question
		return questionArgs(r.Question)
	case r.Review != nil:
		return l.reviewArgs(r.Review)
	case r.Log != nil:
		return l.logArgs(r.Log)
	case r.Run != nil:
		return l.runArgs(r.Run)
	case r.Key != nil:
		return []any{"key", r.Key.Key, r.Key.Run, r.Key.Expires}, nil
	case r.Delivery != nil:
		d := r.Delivery
		return []any{"delivery", d.ID, d.Dead, d.Run, d.URL, d.Attempt, d.Due, d.Error, d.Event, d.Interrupt}, nil
	}
	return nil, fmt.Errorf("redis: a record of thread %s that this program doesn't know", l.d.ID)
}

func questionArgs(q *transfer.Question) ([]any, error) {
	status := ""
	for stored, name := range questionStatuses {
		if name == q.Status {
			status = stored
		}
	}
	if status == "" {
		return nil, fmt.Errorf("redis: no status %q of an interrupt", q.Status)
	}
	args := []any{"question", q.ID, status}
	if q.Checkpoint == "" {
		args = append(args, 0)
	} else {
		doc := encodeQuestion(agent.InterruptInfo{Value: json.RawMessage(q.Value), ResponseSchema: json.RawMessage(q.Schema)})
		args = append(args, 1, q.NS, q.Checkpoint, q.Task, q.Run, q.Generation, q.Created, doc)
	}
	if a := q.Answer; a == nil {
		args = append(args, 0)
	} else {
		args = append(args, 1, []byte(a.Value), a.By, a.At, a.Run, a.Fingerprint)
	}
	return args, nil
}

// logArgs are the arguments of a batch. One of the snapshot goes with the head.
func (l *loading) logArgs(b *transfer.Log) ([]any, error) {
	entries, err := thread.DecodeEntries(nil, b.Data, b.Run, 0)
	if err != nil || len(entries) == 0 {
		return nil, fmt.Errorf("redis: log of thread %s at %d: %w", l.d.ID, b.First, errorsFirst(err, errCorrupt))
	}
	var seq, checkpoint int64
	for _, e := range entries {
		seq = max(seq, e.Seq)
		if note, ok := e.Event.Payload.(agent.CheckpointNote); ok && checkpoint == 0 && b.Owner == 0 {
			checkpoint = l.checkpoints[e.Event.NS+"\n"+note.ID]
		}
	}
	batch := []any{1, b.First, b.Last, seq, len(entries), entries[0].Event.At, []byte(b.Data)}
	if b.Snapshot {
		l.snapshot = append(append(l.snapshot, b.Run), batch...)
		l.batches++
		return nil, nil
	}
	l.logBytes += int64(len(b.Data))
	if b.Owner > 0 {
		of := l.logs[b.Owner]
		if of == nil {
			of = &runLog{}
			l.logs[b.Owner] = of
		}
		of.last, of.seq, of.bytes = max(of.last, b.Last), max(of.seq, seq), of.bytes+int64(len(b.Data))
	}
	return append([]any{"log", b.Run, checkpoint, b.Owner}, batch...), nil
}

func (l *loading) runArgs(r *transfer.Run) ([]any, error) {
	status, err := runStatusCode(thread.RunStatus(r.Status))
	if err != nil {
		return nil, err
	}
	doc, err := r.EncodeDoc()
	if err != nil {
		return nil, err
	}
	var kwargs thread.RunKwargs
	if err := json.Unmarshal(r.Kwargs, &kwargs); err != nil {
		return nil, err
	}
	place := placeOf(thread.Run{ID: r.ID, ExecutionID: r.Execution, Project: r.Project, CreatedAt: timeOf(r.Created)})
	l.runs = append(l.runs, &call{script: "own", keys: l.s.keys.firsts(r.ID), args: []any{r.ID, l.d.ID, place}})
	args := []any{"run", []byte(doc), []byte(r.Error), r.Retires}
	texts := []any{"id", r.ID, "cancel", r.Cancel, "base", r.Base, "fingerprint", r.Fingerprint, "commit", r.LastCommit, "execution", r.Execution, "op", "", "webhook", kwargs.Webhook}
	args = append(append(args, len(texts)/2), texts...)
	numbers := []any{"number", r.Number, "status", status, "created", r.Created, "updated", r.Updated, "started", r.Started, "ended", r.Ended,
		"notbefore", r.NotBefore, "attempt", r.Attempt, "suspended", r.Suspended, "logfrom", r.LogFrom, "writes", r.Writes,
		"leaves", kwargs.Temporary && kwargs.OnCompletion != "keep"}
	if running := l.d.Running; running == nil || running.Run != r.Number { // else the head has them
		if of := l.logs[r.Number]; of != nil {
			numbers = append(numbers, "logto", of.last, "logseq", of.seq, "bytes", of.bytes)
		}
		if at, ok := l.of[r.ID]; ok {
			numbers = append(numbers, "cpfrom", at[0], "cpto", at[1])
		}
	}
	args = append(append(args, len(numbers)/2), numbers...)
	args = append(args, len(r.Resumes))
	for _, id := range r.Resumes {
		args = append(args, id)
	}
	return args, nil
}

// end stores the head, and what is derived from the thread.
func (l *loading) end(ctx context.Context) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	if err := l.s.evalAll(ctx, l.runs...); err != nil {
		return err
	}
	args, err := l.headArgs()
	if err != nil {
		return err
	}
	r := l.s.eval(ctx, "adopt", l.keys, args...)
	if status := r.status(); status != "OK" && r.err == nil {
		r.fail()
	}
	w := readRow(l.d.ID, &r)
	if r.err != nil {
		return r.err
	}
	if w.parts != 0 {
		if err := l.s.readParts(ctx, &w); err != nil {
			return err
		}
	}
	return l.s.derive(ctx, w, derived{metadata: true, whole: true})
}

// headArgs are the arguments of adopt.
func (l *loading) headArgs() ([]any, error) {
	d := l.d
	fields := []any{
		"updated", d.Updated, "temp", d.Temporary, "expires", d.Expires, "ttl", d.TTL, "supdated", d.StateUpdated, "head", d.Head, "gen", d.Generation,
		"ended", d.Ended, "nseq", d.NextSeq, "npos", d.NextPos, "seq", d.EndSeq, "pos", d.EndPos, "token", d.Token, "runs", d.Runs, "cps", d.Checkpoints,
		"asked", d.Asked, "suspended", d.Suspended, "commit", d.LastCommit, "logbytes", l.logBytes,
	}
	status := func(name, value string) error {
		code := statusCode(thread.Status(value))
		if code < 0 {
			return fmt.Errorf("redis: no status %q", value)
		}
		fields = append(fields, name, code)
		return nil
	}
	err := errorsFirst(status("status", d.Status), status("rest", d.Rest))
	var queue []string
	for _, q := range d.Queue {
		queue = append(queue, fmt.Sprintf("%d:%d", q.Run, q.At))
	}
	fields = append(fields, "queue", strings.Join(queue, " "))
	var owed []any
	var canceller []byte
	if r := d.Running; r != nil {
		canceller = r.CancelledBy
		err = errorsFirst(err, status("baserest", r.BaseRest))
		from := d.Checkpoints + 1 // where those of the run begin
		if at, ok := l.of[r.ID]; ok {
			from = at[0]
		}
		var bytes int64
		if of := l.logs[r.Run]; of != nil {
			bytes = of.bytes
		}
		fields = append(fields, "running", r.Run, "runid", r.ID, "attempt", r.Attempt, "lost", r.Lost, "released", r.Released, "fbase", r.FrameBase,
			"freserved", r.FrameReserved, "cancel", r.Cancel, "started", r.Started, "base", r.Base, "sseq", r.StartSeq, "spos", r.StartPos, "logfrom", r.LogFrom,
			"cpfrom", from, "runbytes", bytes, "due", 1) // nobody has it
		for _, o := range r.Owed {
			b, e := thread.FloatEvents(thread.Unbegun(o.Graph, o.Assistant, o.Action, time.UnixMilli(o.At)))
			err = errorsFirst(err, e)
			owed = append(append(owed, o.ID), floating(b)...)
		}
	}
	args := append([]any{d.Created, len(fields) / 2}, fields...)
	args = append(args, orObject(d.Metadata), []byte(d.Config), []byte(d.Error), canceller)
	args = append(append(args, countOwed(d)), owed...)
	return slices.Concat(args, []any{l.batches}, l.snapshot), err
}

func orObject(b []byte) []byte {
	if len(b) == 0 {
		return []byte("{}")
	}
	return b
}

func countOwed(d *transfer.Thread) int {
	if d.Running == nil {
		return 0
	}
	return len(d.Running.Owed)
}
