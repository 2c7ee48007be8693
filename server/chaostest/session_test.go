package chaostest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// session is what clients do on one thread, and what they were told.
type session struct {
	w      *world
	index  int
	script script
	thread string

	mu      sync.Mutex
	runs    []started // runs that were accepted
	asked   map[string]asked
	answers []answered
	unheard []string // updates of answers of which nobody said what became of them
	readers []*reader
	joined  map[string]bool
	rec     *record // what is stored in the end
	// drops: something may have dropped questions; rollbacks: or taken answers back, with runs.
	drops, rollbacks bool
}

// started is a run that a client was told of.
type started struct {
	run, tag, strategy string
	key                string
}

// asked is a question.
type asked struct {
	tag   string
	index int
}

// answered is an answer that was accepted.
type answered struct {
	ids    []string
	value  string
	run    string
	note   string // of its update
	key    string
	client int
}

func (s *session) who(part string, args ...any) string {
	return fmt.Sprintf("s%d.%s", s.index, fmt.Sprintf(part, args...))
}

// open creates the thread and its readers.
func (s *session) open(ctx context.Context) error {
	c, reply := s.w.insist(ctx, request{who: s.who("open"), method: http.MethodPost, path: "/threads", body: "{}"}, s.index)
	id, ok := reply["thread_id"].(string)
	if !ok {
		return fmt.Errorf("no thread: %+v", c)
	}
	s.thread = id
	for i := range 2 {
		s.readers = append(s.readers, s.w.follow(s.who("events%d", i), id, "", s.index+i))
	}
	return nil
}

// work carries the script out.
func (s *session) work(ctx context.Context) {
	var late sync.WaitGroup
	rnd := rand.New(rand.NewPCG(s.script.seed, 1)) //nolint:gosec // it is to be repeatable
	for i, o := range s.script.ops {
		replica := rnd.IntN(len(s.w.replicas))
		other := replica + 1 + rnd.IntN(len(s.w.replicas)-1)
		select {
		case <-ctx.Done():
			return
		case <-time.After(o.think):
		}
		if o.kind == "cancel" {
			s.cancel(ctx, o, replica)
			continue
		}
		q := s.startOf(o, i)
		if o.twice {
			late.Go(func() {
				select {
				case <-ctx.Done():
				case <-time.After(o.late):
					s.start(ctx, o, q, other)
				}
			})
		}
		s.start(ctx, o, q, replica)
	}
	late.Wait()
}

// startOf is the request that starts a run.
func (s *session) startOf(o op, i int) request {
	q := request{who: s.who("main"), method: http.MethodPost, key: fmt.Sprintf("%s-%d", s.thread, i)}
	if o.way == "v2" {
		q.path = "/threads/" + s.thread + "/commands"
		q.body = encode(map[string]any{"id": i + 1, "method": "run.start", "params": map[string]any{
			"assistant_id": "job", "input": o.order, "multitask_strategy": o.strategy,
		}})
		return q
	}
	q.path = "/threads/" + s.thread + "/runs"
	switch o.way {
	case "stream":
		q.path += "/stream"
	case "wait":
		q.path += "/wait"
	}
	q.body = encode(map[string]any{
		"assistant_id": "job", "input": o.order, "multitask_strategy": o.strategy, "on_disconnect": "continue",
		"stream_mode": []string{"values", "updates", "messages-tuple", "custom", "tasks"}, "stream_resumable": true,
	})
	return q
}

// start asks for a run until it is told what became of that.
func (s *session) start(ctx context.Context, o op, q request, replica int) {
	if o.strategy == "rollback" || o.strategy == "interrupt" {
		s.note(func() { s.drops, s.rollbacks = true, s.rollbacks || o.strategy == "rollback" })
	}
	c, reply := s.w.insist(ctx, q, replica%len(s.w.replicas))
	if run := accepted(c, reply); run != "" {
		s.note(func() { s.runs = append(s.runs, started{run, o.order.Tag, o.strategy, q.key}) })
		s.join(run)
	}
}

// accepted is the run of a request that was accepted.
func accepted(c call, reply map[string]any) string {
	if c.Status != http.StatusOK || reply["type"] == "error" {
		return ""
	}
	if result, ok := reply["result"].(map[string]any); ok {
		reply = result
	}
	run, _ := reply["run_id"].(string)
	return run
}

// cancel cancels the newest run.
func (s *session) cancel(ctx context.Context, o op, replica int) {
	var run string
	s.note(func() {
		s.drops, s.rollbacks = true, s.rollbacks || o.action == "rollback"
		if n := len(s.runs); n > 0 {
			run = s.runs[n-1].run
		}
	})
	if run == "" {
		return
	}
	s.w.insist(ctx, request{who: s.who("main"), method: http.MethodPost, path: "/threads/" + s.thread + "/runs/" + run + "/cancel?action=" + o.action}, replica)
}

// join follows a run, the first time that somebody is told of it.
func (s *session) join(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.joined[run] {
		return
	}
	s.joined[run] = true
	s.readers = append(s.readers, s.w.follow(s.who("run%d", len(s.joined)), s.thread, run, len(s.joined)))
}

func (s *session) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// answer answers all questions of the thread, as client i, until ctx ends.
func (s *session) answer(ctx context.Context, i int) {
	a := s.script.answers[i]
	rnd := rand.New(rand.NewPCG(s.script.seed, uint64(i)+2)) //nolint:gosec // it is to be repeatable
	tried := map[string]time.Time{}
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(15 * time.Millisecond):
		}
		open, err := s.w.store.PendingInterrupts(ctx, s.thread)
		if err != nil {
			continue // Redis is away
		}
		var ids []string
		unknown := false
		for _, q := range open {
			var v struct {
				Tag   string `json:"tag"`
				Index int    `json:"index"`
				Type  string `json:"type"`
			}
			_ = json.Unmarshal(q.Value, &v)
			unknown = unknown || v.Type != ""
			s.note(func() { s.asked[q.ID] = asked{v.Tag, v.Index} })
			if time.Since(tried[q.ID]) > 250*time.Millisecond && (v.Type == "" || len(open) == 1) {
				ids = append(ids, q.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		if len(ids) > 1 && rnd.IntN(3) == 0 {
			ids = ids[:1+rnd.IntN(len(ids)-1)]
		}
		n++
		if a.race {
			time.Sleep(time.Until(time.Now().Truncate(raceEach).Add(raceEach)))
		} else {
			time.Sleep(a.late)
		}
		for _, id := range ids {
			tried[id] = time.Now()
		}
		s.respond(ctx, i, n, ids, unknown, rnd.IntN(len(s.w.replicas)))
	}
}

// raceEach is the pause between the moments at which clients answer who want to be the first.
const raceEach = 40 * time.Millisecond

// respond sends one answer to questions.
func (s *session) respond(ctx context.Context, i, n int, ids []string, unknown bool, replica int) {
	a := s.script.answers[i]
	got := answered{ids: ids, value: fmt.Sprintf("c%d.%d", i, n), client: i, key: fmt.Sprintf("%s-c%d-%d", s.thread, i, n)}
	same := a.same || unknown // equal answers are one, whatever else they bring
	if a.same {
		got.value = "same"
	}
	values := map[string]any{}
	for _, id := range ids {
		values[id] = got.value
		if unknown {
			values[id] = map[string]any{"type": "done", "result": map[string]string{"nonce": "unknown"}}
		}
	}
	command := map[string]any{"resume": values}
	if a.update && !same {
		got.note = fmt.Sprintf("note-c%d.%d", i, n)
		command["update"] = map[string]any{"notes": []string{got.note}}
	}
	if a.extra && !same {
		command["goto"] = "extra"
	}
	q := request{who: s.who("client%d", i), method: http.MethodPost, key: got.key}
	switch a.way {
	case "v2":
		var responses []any
		for _, id := range ids {
			responses = append(responses, map[string]any{"interrupt_id": id, "response": values[id]})
		}
		params := map[string]any{"responses": responses}
		for _, k := range []string{"update", "goto"} {
			if v, ok := command[k]; ok {
				params[k] = v
			}
		}
		q.path = "/threads/" + s.thread + "/commands"
		q.body = encode(map[string]any{"id": 1000*(i+1) + n, "method": "input.respond", "params": params})
	default:
		q.path = "/threads/" + s.thread + "/runs"
		if a.way == "stream" {
			q.path += "/stream"
		}
		q.body = encode(map[string]any{
			"assistant_id": "job", "command": command, "on_disconnect": "continue", "multitask_strategy": "enqueue",
			"stream_mode": []string{"values", "updates", "messages-tuple", "custom"},
		})
	}
	if a.twice {
		again, second := make(chan struct{}), got
		go func() {
			defer close(again)
			c, reply := s.w.insist(ctx, q, replica+1)
			if second.run = accepted(c, reply); second.run != "" {
				s.note(func() { s.answers = append(s.answers, second) })
			}
		}()
		defer func() { <-again }()
	}
	c, reply := s.w.insist(ctx, q, replica)
	switch got.run = accepted(c, reply); {
	case got.run != "":
		s.note(func() { s.answers = append(s.answers, got) })
		s.join(got.run)
	case c.Status == 0 || c.Status == http.StatusServiceUnavailable: // all runs have ended meanwhile
		s.note(func() { s.unheard = append(s.unheard, got.note) })
	}
}
