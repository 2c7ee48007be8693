package thread_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
)

// The whole service in a process of its own that is killed at random moments.
// PARLEY_KILLS sets how often (default 20), PARLEY_KILL_SEED repeats a run.
const (
	killChildEnv = "PARLEY_KILL_CHILD"
	killThreads  = 4 // at once
)

// ledger is a file that survives the kill: what happened to the world, what was
// acknowledged, what readers were told, line by line.
type ledger struct {
	mu sync.Mutex
	f  *os.File
}

func openLedger(path string) *ledger {
	return &ledger{f: must(os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))}
}

func (l *ledger) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	must(fmt.Fprintf(l.f, format+"\n", args...))
}

// lines reads the ledger; a line that the kill cut short is left out.
func lines(path string) []string {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	defer f.Close()
	var all []string
	s := bufio.NewScanner(must(f, err))
	for s.Scan() {
		all = append(all, s.Text())
	}
	return all
}

// Publish notes what readers were told is so.
func (l *ledger) Publish(threadID string, entries []thread.Entry) {
	for _, e := range entries {
		switch p := e.Event.Payload.(type) {
		case agent.TaskFinish:
			if p.Error == nil && len(p.Interrupts) == 0 {
				l.note("told %s %s", p.Name, threadID)
			}
		case agent.InterruptInfo:
			l.note("told asked %s", threadID)
		}
	}
}

func (l *ledger) Stored(string, int64) {}

func (l *ledger) RunEnded(string, string) {}

// killGraph is two working nodes around a question. Each work is a durable step.
func killGraph(l *ledger) agent.Agent {
	work := func(name string) func(agent.Context, board) (agent.Update, error) {
		return func(ctx agent.Context, s board) (agent.Update, error) {
			_, err := agent.Step(ctx, name, func(agent.StepContext) (string, error) {
				l.note("did %s %s", name, ctx.ThreadID())
				return name, nil
			})
			return agent.Set("log", []string{name}), err
		}
	}
	return agent.NewGraph[board]("kill").
		Node("a", work("a")).
		Node("ask", func(ctx agent.Context, s board) (agent.Update, error) {
			if _, err := agent.Step(ctx, "look", func(agent.StepContext) (int, error) {
				l.note("did look %s", ctx.ThreadID())
				return 1, nil
			}); err != nil {
				return nil, err
			}
			answer, err := agent.Interrupt[string](ctx, "go on?")
			return agent.Set("log", []string{"ask:" + answer}), err
		}).
		Node("b", work("b")).
		Edge(agent.Start, "a").Edge("a", "ask").Edge("ask", "b").Edge("b", agent.End)
}

func openKillService(dir string, l *ledger) (*thread.Service, *local.Store) {
	store := must(local.Open(context.Background(), local.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)}))
	svc := must(thread.NewService(thread.Options{
		Store: store, Publisher: l, Agents: []agent.Agent{killGraph(l)},
		MaxAttempts: 1_000_000, Logger: slog.New(slog.DiscardHandler),
	}))
	if err := svc.Start(context.Background()); err != nil {
		panic(err)
	}
	return svc, store
}

// runKillChild works until it is killed: it finishes what an earlier life began
// and begins new threads, noting every acknowledgement.
func runKillChild() {
	dir := os.Getenv(killChildEnv)
	l := openLedger(filepath.Join(dir, "ledger"))
	svc, _ := openKillService(filepath.Join(dir, "data"), l)
	known := begun(lines(filepath.Join(dir, "ledger")))
	var wg sync.WaitGroup
	for i := range killThreads {
		wg.Go(func() {
			for n := i; n < len(known); n += killThreads {
				finish(svc, l, known[n])
			}
			for {
				t := must(svc.CreateThread(context.Background(), thread.CreateThread{}))
				l.note("ack created %s", t.ID)
				finish(svc, l, t.ID)
			}
		})
	}
	wg.Wait()
}

// begun lists the threads that were acknowledged but not finished.
func begun(all []string) []string {
	var ids []string
	over := map[string]bool{}
	for _, line := range all {
		if id, ok := strings.CutPrefix(line, "ack finished "); ok {
			over[id] = true
		}
	}
	for _, line := range all {
		if id, ok := strings.CutPrefix(line, "ack created "); ok && !over[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// finish brings a thread to its end from wherever it is.
func finish(svc *thread.Service, l *ledger, id string) {
	ctx := context.Background()
	for {
		for _, run := range must(svc.ListRuns(ctx, id, thread.RunQuery{})) {
			if !run.Status.Ended() {
				must(svc.WaitRun(ctx, id, run.ID))
			}
		}
		state := must(svc.State(ctx, id, thread.StateQuery{}))
		switch {
		case state.CheckpointID == "":
			r := must(svc.StartRun(ctx, input(id, "kill", `{"note":"in"}`)))
			l.note("ack started %s %s", id, r.Run.ID)
		case len(state.Next) == 0:
			l.note("ack finished %s", id)
			return
		case len(state.Tasks) > 0 && len(state.Tasks[0].Interrupts) > 0:
			r := must(svc.StartRun(ctx, resume(id, "kill", `"yes"`)))
			l.note("ack resumed %s %s", id, r.Run.ID)
		default:
			panic(fmt.Sprintf("thread %s is stuck before %v", id, state.Next))
		}
	}
}

// D-22, D-41, D-43: nothing acknowledged is lost, nothing recorded is done again.
func TestKilledServiceLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	kills := many(t, "PARLEY_KILLS", 20)
	seed := uint64(many(t, "PARLEY_KILL_SEED", int(time.Now().UnixNano()&0xffffffff)))
	t.Logf("PARLEY_KILL_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger")
	for range kills {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), killChildEnv+"="+dir)
		child.Stderr = os.Stderr
		before := len(lines(path))
		require.NoError(t, child.Start())
		// Let it come to work, and then for a random while.
		require.Eventually(t, func() bool { return len(lines(path)) > before }, patience, 2*time.Millisecond)
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()
	}

	l := openLedger(path)
	defer l.f.Close()
	svc, store := openKillService(filepath.Join(dir, "data"), l)
	var wg sync.WaitGroup
	for _, id := range begun(lines(path)) {
		wg.Go(func() { finish(svc, l, id) })
	}
	wg.Wait()
	checkLedger(t, svc, lines(path))
	require.NoError(t, svc.Stop(context.Background()))
	require.NoError(t, store.Close())
}

func checkLedger(t *testing.T, svc *thread.Service, all []string) {
	ctx := context.Background()
	told := map[string]bool{}
	threads := 0
	for _, line := range all {
		words := strings.Fields(line)
		switch words[0] + " " + words[1] {
		case "did a", "did b":
			require.False(t, told[words[1]+" "+words[2]], "repeated after readers were told: %s", line)
		case "did look":
			require.False(t, told["asked "+words[2]], "repeated after the question was asked: %s", line)
		case "ack started", "ack resumed":
			run, err := svc.GetRun(ctx, words[2], words[3])
			require.NoError(t, err, "lost: %s", line)
			require.Equal(t, thread.RunSuccess, run.Status, line)
		case "ack finished":
			threads++
			checkFinished(t, svc, words[2])
		}
		if words[0] == "told" {
			told[words[1]+" "+words[2]] = true
		}
	}
	require.Positive(t, threads)
	t.Logf("%d threads, %d lines", threads, len(all))
}

func checkFinished(t *testing.T, svc *thread.Service, id string) {
	ctx := context.Background()
	history, err := svc.History(ctx, id, thread.HistoryQuery{Limit: 100})
	require.NoError(t, err)
	unbroken(t, history, 5)
	var state board
	require.NoError(t, json.Unmarshal(history[0].State.JSON(), &state))
	require.Equal(t, []string{"a", "ask:yes", "b"}, state.Log, "input and answers are applied once")
	require.Equal(t, "in", state.Note)
	th, err := svc.GetThread(ctx, id)
	require.NoError(t, err)
	require.Equal(t, thread.Idle, th.Status)
}
