package redis

import (
	"context"
	"slices"
	"sync"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

const (
	// sealThreads and sealEntries bound what is sealed at once.
	sealThreads = 50
	sealEntries = 100
	// sealGrace is how long entries wait before the sweeper seals what somebody else should have sealed.
	sealGrace = 2 * time.Second
	// sealAtEnd bounds how long a store that is closed goes on sealing.
	sealAtEnd = 2 * time.Second
)

// sealer collects threads with audit entries that stand in no project's chain yet.
type sealer struct {
	mu      *sync.Mutex
	waiting map[string]bool
	wake    chan struct{}
}

func newSealer() sealer {
	return sealer{mu: &sync.Mutex{}, waiting: map[string]bool{}, wake: make(chan struct{}, 1)}
}

func (q sealer) add(threadID string) {
	q.mu.Lock()
	q.waiting[threadID] = true
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take moves some of the threads out.
func (q sealer) take() (ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id := range q.waiting {
		if len(ids) == sealThreads {
			break
		}
		ids = append(ids, id)
		delete(q.waiting, id)
	}
	return ids
}

// seal appends audit entries to the chains of their projects, right behind the transitions
// that wrote them, until ctx ends. What fails is left to the sweeper.
func (s *Store) seal(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sealAtEnd)
			s.sealWaiting(ctx)
			cancel()
			return
		case <-s.sealing.wake:
			s.sealWaiting(ctx)
		}
	}
}

func (s *Store) sealWaiting(ctx context.Context) {
	for ids := s.sealing.take(); len(ids) > 0 && ctx.Err() == nil; ids = s.sealing.take() {
		if _, err := s.sealChains(ctx, ids); err != nil && ctx.Err() == nil {
			s.log.Warn("seal audit entries", "threads", len(ids), "err", err)
			return
		}
	}
}

// SealAudit implements thread.Audit.
func (s *Store) SealAudit(ctx context.Context) (n int, err error) {
	for shard := range s.keys.shards {
		sealed, err := s.sealShard(ctx, shard, 0)
		if n += sealed; err != nil {
			return n, err
		}
	}
	return n, nil
}

// sealShard seals what has waited at least so long.
func (s *Store) sealShard(ctx context.Context, shard int, age time.Duration) (n int, err error) {
	until := "+inf"
	if age > 0 {
		now, err := s.storeTime(ctx)
		if err != nil {
			return 0, err
		}
		until = micro(now.Add(-age))
	}
	ids, err := s.client.ZRangeByScore(ctx, s.keys.unsealed(shard), &rds.ZRangeBy{Min: "-inf", Max: until}).Result()
	if err != nil {
		return 0, unavailable(err)
	}
	for part := range slices.Chunk(ids, sealThreads) {
		sealed, err := s.sealChains(ctx, part)
		if n += sealed; err != nil {
			return n, err
		}
	}
	return n, nil
}

// sealChains seals what waits of the chains of threads, in four round trips: the entries are
// read, appended to the chain of the project, marked as sealed, and the threads' derived entries
// written. Each can be repeated, by whomever: entries are sealed once. It returns how many it sealed.
func (s *Store) sealChains(ctx context.Context, ids []string) (n int, err error) {
	work := make([]*sealWork, len(ids))
	for i, id := range ids {
		work[i] = &sealWork{s: s, id: id}
	}
	return s.sealAll(ctx, work)
}

func (s *Store) sealAll(ctx context.Context, work []*sealWork) (n int, err error) {
	for len(work) > 0 && err == nil {
		var sealed int
		sealed, err = s.sealRound(ctx, work)
		n += sealed
		work = slices.DeleteFunc(work, func(w *sealWork) bool { return !w.more })
	}
	return n, err
}

// sealLost seals once more what the threads take for sealed, but the projects' chains have lost
// in a fail-over.
func (s *Store) sealLost(ctx context.Context, ids []string) error {
	reads := make([]*call, len(ids))
	for i, id := range ids {
		reads[i] = &call{script: "chain", keys: s.keys.thread(id), args: []any{"from", 0, 0}}
	}
	if err := s.evalAll(ctx, reads...); err != nil {
		return err
	}
	var chains []chainPart
	var names, owners []string
	for i, id := range ids {
		c, err := takeChain(id, &reads[i].reply)
		if err != nil && !isNotFound(err) {
			return err
		}
		if c.sealed > 0 {
			chains, names, owners = append(chains, c), append(names, c.first), append(owners, id)
		}
	}
	if len(names) == 0 {
		return nil
	}
	known, err := s.client.HMGet(ctx, s.keys.projects()[1], names...).Result()
	if err != nil {
		return unavailable(err)
	}
	var lost []*sealWork
	for i, v := range known {
		text, _ := v.(string)
		if have := (headFields{"": text}).int(""); have < chains[i].sealed {
			lost = append(lost, &sealWork{s: s, id: owners[i], from: have + 1})
		}
	}
	n, err := s.sealAll(ctx, lost)
	if n > 0 {
		s.log.Warn("audit entries that were lost are sealed again", "threads", len(lost), "entries", n)
	}
	return err
}

// sealWork is the sealing of a thread's chain under way.
type sealWork struct {
	s     *Store
	id    string
	from  int64 // number of the first entry; 0 for the first that isn't sealed
	chain chainPart
	more  bool
}

func (s *Store) sealRound(ctx context.Context, work []*sealWork) (n int, err error) {
	reads := make([]*call, len(work))
	for i, w := range work {
		reads[i] = &call{script: "chain", keys: s.keys.thread(w.id), args: []any{"from", w.from, sealEntries}}
	}
	if err := s.evalAll(ctx, reads...); err != nil {
		return 0, err
	}
	var seals []*call
	var sealing []*sealWork
	for i, w := range work {
		w.more = false
		if w.chain, err = takeChain(w.id, &reads[i].reply); isNotFound(err) || err == nil && len(w.chain.entries) == 0 {
			continue
		}
		if err != nil {
			return 0, err
		}
		w.more = len(w.chain.entries) == sealEntries
		w.from = 0
		seals, sealing = append(seals, w.call()), append(sealing, w)
	}
	if err := s.confirmedAll(ctx, seals...); err != nil {
		return 0, err
	}
	var notes []*call
	var noted []*sealWork
	for i, w := range sealing {
		note, fresh, err := w.note(&seals[i].reply)
		if err != nil {
			return n, err
		}
		if n += fresh; note != nil {
			notes, noted = append(notes, note), append(noted, w)
		}
	}
	if err := s.evalAll(ctx, notes...); err != nil {
		return n, err
	}
	for i, w := range noted {
		if notes[i].reply.status() != "OK" { // its deletion goes on elsewhere
			continue
		}
		row := readRow(w.id, &notes[i].reply)
		if err := errorsFirst(notes[i].reply.err, s.derive(ctx, row, derived{})); err != nil {
			return n, err
		}
	}
	return n, nil
}

// call appends the entries that were read to the project's chain.
func (w *sealWork) call() *call {
	c := &call{script: "seal", keys: w.s.keys.sealing(w.chain.project, newOp()),
		args: []any{w.chain.project, w.id, w.chain.first, len(w.chain.entries)}}
	for _, e := range w.chain.entries {
		c.args = append(c.args, e.ThreadSeq, micros(e.At), e.Prev, e.Hash, []byte(e.Body))
	}
	return c
}

// note is the call that notes in the thread where its entries are sealed.
func (w *sealWork) note(r *reply) (note *call, fresh int, err error) {
	if r.status() == "GAP" { // the project's chain has lost what the thread took for sealed
		w.from, w.more = r.int()+1, true
		return nil, 0, r.err
	}
	fresh = int(r.int())
	note = &call{script: "sealed", keys: w.s.keys.thread(w.id), args: []any{w.chain.first, w.chain.entries[0].ThreadSeq, len(w.chain.entries)}}
	for r.more() {
		in := r.inner()
		note.args = append(note.args, in.int(), in.text())
		r.err = errorsFirst(r.err, in.err)
	}
	return note, fresh, r.err
}

// bury removes what is left of a thread that was deleted: its audit chain, once that is sealed.
func (s *Store) bury(ctx context.Context, id string) error {
	ctx = context.WithoutCancel(ctx)
	for {
		if _, err := s.sealChains(ctx, []string{id}); err != nil {
			return err
		}
		r := s.eval(ctx, "bury", s.keys.thread(id))
		if status := r.status(); status == "OK" || r.err != nil {
			return r.err
		}
	}
}

// Unsealed implements thread.Audit.
func (s *Store) Unsealed(ctx context.Context, before time.Time, limit int) (list []thread.AuditEntry, err error) {
	ids, _, err := s.earliest(ctx, s.keys.unsealed, before, 0, limit)
	if err != nil {
		return nil, unavailable(err)
	}
	calls := make([]*call, len(ids))
	for i, id := range ids {
		calls[i] = &call{script: "chain", keys: s.keys.thread(id), args: []any{"from", 0, limit}}
	}
	if err := s.evalAll(ctx, calls...); err != nil {
		return nil, err
	}
	for i, c := range calls {
		part, err := takeChain(ids[i], &c.reply)
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range part.entries {
			if e.At.Before(before) && len(list) < limit {
				list = append(list, e)
			}
		}
	}
	return list, nil
}
