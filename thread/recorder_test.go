package thread

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
)

// logStore is the part of a store that a recorder writes to.
type logStore struct {
	Store
	mu         sync.Mutex
	commits    []Commit
	entries    []Entry // as stored, in order
	batches    int
	reserved   int64
	rolledBack int
	gate       chan struct{} // when set, each write waits for a value
	fail       func() error
}

func (l *logStore) enter() error {
	if l.gate != nil {
		<-l.gate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return l.fail()
	}
	return nil
}

func (l *logStore) AppendLog(_ context.Context, _ Lease, entries []Entry) error {
	if err := l.enter(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches++
	l.entries = append(l.entries, entries...)
	return nil
}

func (l *logStore) Commit(_ context.Context, _ Lease, c Commit) ([]Entry, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits = append(l.commits, c)
	l.entries = append(l.entries, c.Entries...)
	return nil, nil
}

func (l *logStore) Rollback(_ context.Context, _ Lease, last []Entry) ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rolledBack++
	l.entries = append(l.entries, last...)
	return nil, nil
}

func (l *logStore) ReserveNumbers(_ context.Context, lease Lease, n int64) (Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved += n
	lease.PosReserved += n
	lease.SeqReserved += n
	lease.FrameReserved += n
	return lease, nil
}

func (l *logStore) stored() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Entry(nil), l.entries...)
}

// reading is a Publisher that notes what readers get.
type reading struct {
	mu     sync.Mutex
	seen   []Entry
	stored []int64 // what Stored said
	ended  []string
	more   chan struct{}
}

func newReading() *reading { return &reading{more: make(chan struct{}, 1)} }

func (p *reading) Publish(_ string, entries []Entry) {
	p.mu.Lock()
	p.seen = append(p.seen, entries...)
	p.mu.Unlock()
	signal(p.more)
}

func (p *reading) Stored(_ string, pos int64) {
	p.mu.Lock()
	p.stored = append(p.stored, pos)
	p.mu.Unlock()
	signal(p.more)
}

func (p *reading) RunEnded(_, runID string) {
	p.mu.Lock()
	p.ended = append(p.ended, runID)
	p.mu.Unlock()
	signal(p.more)
}

func (p *reading) kinds() []agent.Kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	var kinds []agent.Kind
	for _, e := range p.seen {
		kinds = append(kinds, e.Event.Kind)
	}
	return kinds
}

func (p *reading) entries() []Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Entry(nil), p.seen...)
}

type recorderBundle struct {
	store    *logStore
	reading  *reading
	recorder *recorder
}

func newRecorderBundle(t *testing.T) *recorderBundle {
	t.Helper()
	b := &recorderBundle{store: &logStore{}, reading: newReading()}
	s, err := NewService(Options{Store: b.store, Publisher: b.reading})
	require.NoError(t, err)
	lease := Lease{
		ThreadID: "t", RunID: "r", Token: 1, NextPos: 5, NextSeq: 3,
		PosReserved: 5 + reserve, SeqReserved: 3 + reserve, FrameReserved: reserve,
	}
	b.recorder = newRecorder(s, Run{ID: "r", ThreadID: "t", GraphID: "g"}, lease)
	return b
}

func delta(text string) agent.Event {
	return agent.Event{Kind: agent.BlockDelta, Payload: agent.Delta{Text: text}}
}

func event(kind agent.Kind) agent.Event { return agent.Event{Kind: kind} }

func checkpoint(id, parent string) *agent.Checkpoint {
	return &agent.Checkpoint{ID: id, ParentID: parent, At: time.UnixMilli(1), Channels: map[string]agent.Channel{}}
}

func TestRecorderPublishesDeltasAtOnceAndStoresThemInBatches(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	for i := range 100 {
		b.recorder.Emit(delta(fmt.Sprint(i)))
	}
	require.Len(t, b.reading.entries(), 100, "seen before anything is stored")
	outcome, err := b.recorder.close(context.Background())
	require.NoError(t, err)
	require.Nil(t, outcome)
	require.Equal(t, b.reading.entries(), b.store.stored())
	require.LessOrEqual(t, b.store.batches, 50)
}

func TestRecorderNumbersFromTheLeaseAndCountsOnlyShownEvents(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	b.recorder.Emit(delta("a"), event(agent.MessageReset), delta("b"))
	_, err := b.recorder.close(context.Background())
	require.NoError(t, err)
	var got [][2]int64
	for _, e := range b.store.stored() {
		require.Equal(t, "r", e.RunID)
		got = append(got, [2]int64{e.Pos, e.Seq})
	}
	require.Equal(t, [][2]int64{{5, 3}, {6, 0}, {7, 4}}, got)
}

func TestRecorderHoldsBackWhatIsNotStored(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	b.store.gate = make(chan struct{}, 8)
	done := make(chan error, 1)
	go func() {
		done <- b.recorder.Commit(context.Background(), agent.Commit{Events: []agent.Event{event(agent.ValuesEmitted)}})
	}()
	require.Eventually(t, func() bool {
		b.recorder.mu.Lock()
		defer b.recorder.mu.Unlock()
		return b.recorder.writing
	}, 5*time.Second, time.Millisecond)
	b.recorder.Emit(delta("after"))
	require.Empty(t, b.reading.kinds(), "neither the commit's event nor what is numbered behind it")
	b.store.gate <- struct{}{}
	require.NoError(t, <-done)
	require.Equal(t, []agent.Kind{agent.ValuesEmitted, agent.BlockDelta}, b.reading.kinds())
	b.store.gate <- struct{}{}
	_, err := b.recorder.close(context.Background())
	require.NoError(t, err)
}

// A renewal may find the run ended by a commit whose own reply is still on its way:
// what that stored is published all the same, for nobody else tells this process's readers.
func TestFencedRecorderPublishesWhatItIsStoring(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]*agent.Outcome{"the end": {Status: "success"}, "a superstep": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newRecorderBundle(t)
			b.recorder.Emit(delta("seen"))
			b.store.gate = make(chan struct{})
			done := make(chan error, 1)
			go func() {
				done <- b.recorder.Commit(context.Background(), agent.Commit{Events: []agent.Event{event(agent.ValuesEmitted)}, Outcome: outcome})
			}()
			require.Eventually(t, func() bool {
				b.recorder.mu.Lock()
				defer b.recorder.mu.Unlock()
				return b.recorder.writing && b.recorder.fresh == len(b.recorder.queue) && len(b.recorder.commits) == 0
			}, 30*time.Second, time.Millisecond)
			b.recorder.Emit(delta("never stored"))
			b.recorder.fence()
			require.Equal(t, []agent.Kind{agent.BlockDelta}, b.reading.kinds())
			close(b.store.gate)
			require.NoError(t, <-done)
			got, err := b.recorder.close(context.Background())
			require.ErrorIs(t, err, ErrFenced)
			require.Equal(t, outcome, got)
			want := []agent.Kind{agent.BlockDelta, agent.ValuesEmitted}
			if outcome != nil {
				want = append(want, agent.RunFinished)
			}
			require.Equal(t, want, b.reading.kinds())
			require.Equal(t, b.store.stored(), b.reading.entries())
		})
	}
}

func TestRecorderStoresWaitingDeltasWithTheNextCommit(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	b.recorder.Emit(delta("1"), delta("2"))
	require.NoError(t, b.recorder.Commit(context.Background(), agent.Commit{Events: []agent.Event{event(agent.UpdatesEmitted)}}))
	require.Equal(t, []agent.Kind{agent.BlockDelta, agent.BlockDelta, agent.UpdatesEmitted}, b.reading.kinds())
	require.Equal(t, b.reading.entries(), b.store.stored())
}

// Decisions 2: who joined between an event and its storing waits for a word.
func TestRecorderSaysWhenWhatWasSeenIsStored(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	require.NoError(t, b.recorder.Commit(context.Background(), agent.Commit{Events: []agent.Event{event(agent.UpdatesEmitted)}}))
	require.Empty(t, b.reading.stored, "what is published when it is stored needs none")
	b.recorder.Emit(delta("1"), delta("2"))
	<-b.reading.more
	require.Eventually(t, func() bool {
		b.reading.mu.Lock()
		defer b.reading.mu.Unlock()
		return len(b.reading.stored) > 0
	}, 5*time.Second, time.Millisecond)
	seen := b.reading.entries()
	require.Equal(t, []int64{seen[len(seen)-1].Pos}, b.reading.stored)
	require.Equal(t, seen, b.store.stored(), "it is true")
	b.recorder.Emit(delta("3"))
	require.NoError(t, b.recorder.Commit(context.Background(), agent.Commit{Events: []agent.Event{event(agent.UpdatesEmitted)}}))
	require.Equal(t, int64(5), b.reading.stored[1]-seen[0].Pos+1, "a commit takes them along")
	_, err := b.recorder.close(context.Background())
	require.NoError(t, err)
}

func TestRecorderStoresAnEmittedFactSoonWithoutACommit(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	b.recorder.Emit(event(agent.RunStarted), delta("first token"))
	select {
	case <-b.reading.more:
	case <-time.After(5 * time.Second):
		t.Fatal("nothing was published")
	}
	require.Equal(t, []agent.Kind{agent.RunStarted, agent.BlockDelta}, b.reading.kinds())
	require.Len(t, b.store.stored(), 2)
	_, err := b.recorder.close(context.Background())
	require.NoError(t, err)
}

func TestRecorderUndoesTheRunInsteadOfEndingIt(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	b.recorder.cancel(CancelRollback)
	b.recorder.Emit(delta("seen"))
	require.NoError(t, b.recorder.Commit(context.Background(), agent.Commit{Outcome: &agent.Outcome{Status: "interrupted"}}))
	require.Equal(t, 1, b.store.rolledBack)
	require.Empty(t, b.store.commits)
	last := b.reading.entries()[1]
	require.Equal(t, []Entry{last}, b.store.stored(), "with its number, which is above those that readers saw")
	require.Equal(t, agent.RunFinish{GraphID: "g", Status: "interrupted", Cancel: CancelRollback}, last.Event.Payload)
}

// D-55
func TestRecorderTakesNothingAfterTheEnd(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	require.NoError(t, b.recorder.Commit(context.Background(), agent.Commit{Outcome: &agent.Outcome{Status: "success"}}))
	b.recorder.Emit(delta("late"))
	require.ErrorIs(t, b.recorder.Commit(context.Background(), agent.Commit{}), errRunEnded)
	outcome, err := b.recorder.close(context.Background())
	require.NoError(t, err)
	require.Equal(t, "success", outcome.Status)
	require.Equal(t, []agent.Kind{agent.RunFinished}, b.reading.kinds())
	require.Equal(t, RunSuccess, b.store.commits[0].Finish.Status)
}

func TestRecorderFinishTellsHowTheRunEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome   agent.Outcome
		hasNext   bool
		suspended bool
		err       string
	}{
		"success":    {outcome: agent.Outcome{Status: "success"}},
		"interrupt":  {outcome: agent.Outcome{Status: "success", Suspended: true}, hasNext: true, suspended: true},
		"breakpoint": {outcome: agent.Outcome{Status: "success", Breakpoint: true}, hasNext: true, suspended: true},
		"error": {
			outcome: agent.Outcome{Status: "error", Err: &agent.ErrorInfo{Name: "CustomError", Message: "Boo!"}},
			err:     `{"error":"CustomError","message":"Boo!"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newRecorderBundle(t)
			b.recorder.run.Kwargs.Webhook = "http://hook"
			require.NoError(t, b.recorder.Commit(context.Background(), agent.Commit{Outcome: &c.outcome}))
			f := b.store.commits[0].Finish
			require.Equal(t, c.hasNext, f.HasNext)
			require.Equal(t, c.suspended, f.Suspended)
			require.Equal(t, c.err, string(f.Error))
			require.Equal(t, "http://hook", f.Webhook.URL)
			require.True(t, b.store.commits[0].Sync)
		})
	}
}

func TestRecorderJoinsCommitsThatWaitTogether(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	b.store.gate = make(chan struct{}, 100)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			err := b.recorder.Commit(context.Background(), agent.Commit{
				Tasks:  []agent.TaskRecord{{TaskID: fmt.Sprint(i)}},
				Events: []agent.Event{event(agent.TaskFinished)},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	require.Eventually(t, func() bool {
		b.recorder.mu.Lock()
		defer b.recorder.mu.Unlock()
		return b.recorder.counted == 50
	}, 5*time.Second, time.Millisecond)
	for range 100 {
		b.store.gate <- struct{}{}
	}
	wg.Wait()
	require.Len(t, b.store.commits, 2, "the first alone, the others together")
	last := int64(0)
	for _, e := range b.store.stored() {
		require.Greater(t, e.Pos, last)
		last = e.Pos
	}
	require.Equal(t, b.reading.entries(), b.store.stored())
}

func TestRecorderStopsSilentlyWhenFenced(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	b.store.fail = func() error { return fmt.Errorf("commit: %w", ErrFenced) }
	err := b.recorder.Commit(context.Background(), agent.Commit{Events: []agent.Event{event(agent.ValuesEmitted)}})
	require.ErrorIs(t, err, ErrFenced)
	b.recorder.Emit(delta("ghost"))
	require.ErrorIs(t, b.recorder.Commit(context.Background(), agent.Commit{}), ErrFenced)
	_, err = b.recorder.close(context.Background())
	require.ErrorIs(t, err, ErrFenced)
	require.Empty(t, b.reading.kinds())
	require.Empty(t, b.store.stored())
}

func TestRecorderRepeatsAWriteUnderTheSameIDWhenTheStoreFaltered(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	faults := 2
	b.store.fail = func() error {
		if faults--; faults >= 0 {
			return errors.New("disk is busy")
		}
		return nil
	}
	require.NoError(t, b.recorder.Commit(context.Background(), agent.Commit{Tasks: []agent.TaskRecord{{TaskID: "a"}}}))
	require.Len(t, b.store.commits, 1)
	require.Equal(t, "r/1/1", b.store.commits[0].ID)
}

func TestDrainingRecorderEndsTheRunBehindASuperstepOfTheRoot(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	b.recorder.drain()
	ctx := context.Background()
	require.NoError(t, b.recorder.Commit(ctx, agent.Commit{Tasks: []agent.TaskRecord{{TaskID: "a"}}}))
	nested := checkpoint("1", "")
	nested.NS = "sub:1"
	require.NoError(t, b.recorder.Commit(ctx, agent.Commit{Checkpoints: []*agent.Checkpoint{nested}}))
	require.ErrorIs(t, b.recorder.Commit(ctx, agent.Commit{Checkpoints: []*agent.Checkpoint{checkpoint("2", "")}}), errDrained)
	require.Len(t, b.store.commits, 3, "the superstep itself is stored")
	_, err := b.recorder.close(context.Background())
	require.ErrorIs(t, err, errDrained)
}

func TestRecorderThatGaveUpStoresWhatReadersHave(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	b.recorder.Emit(delta("seen"))
	b.recorder.giveUp()
	err := b.recorder.Commit(context.Background(), agent.Commit{Outcome: &agent.Outcome{Status: "interrupted"}})
	require.ErrorIs(t, err, errDrained)
	outcome, err := b.recorder.close(context.Background())
	require.ErrorIs(t, err, errDrained)
	require.Nil(t, outcome)
	require.Len(t, b.store.stored(), 1)
}

func TestRecorderThatGaveUpStillRecordsFinishedSteps(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	b.recorder.giveUp()
	ctx := context.Background()
	done := agent.StepRecord{Name: "pay", Status: agent.StepDone}
	require.ErrorIs(t, b.recorder.Commit(ctx, agent.Commit{Steps: []agent.StepRecord{done}}), errDrained, "the graph must not go on")
	require.Len(t, b.store.commits, 1)
	require.Equal(t, []agent.StepRecord{done}, b.store.commits[0].Steps)
	require.ErrorIs(t, b.recorder.Commit(ctx, agent.Commit{Steps: []agent.StepRecord{done}, Tasks: []agent.TaskRecord{{TaskID: "a"}}}), errDrained)
	require.Len(t, b.store.commits, 1)
	_, err := b.recorder.close(ctx)
	require.ErrorIs(t, err, errDrained)
	require.ErrorIs(t, b.recorder.Commit(ctx, agent.Commit{Steps: []agent.StepRecord{done}}), errDrained, "the run may be another worker's by now")
	require.Len(t, b.store.commits, 1)
}

func TestRecorderNeverShowsUnstoredNumbersBeyondItsReservedRange(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	b.recorder.lease.PosReserved = b.recorder.pos + 1 // two numbers are left
	b.recorder.Emit(delta("1"), delta("2"), delta("3"))
	require.Len(t, b.reading.entries(), 2)
	_, err := b.recorder.close(context.Background())
	require.NoError(t, err)
	require.Len(t, b.reading.entries(), 3, "stored, it may be seen")
}

func TestRecorderExtendsItsRangeAtHalf(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	b.recorder.lease.PosReserved = b.recorder.pos + reserve/2
	require.NoError(t, b.recorder.Commit(context.Background(), agent.Commit{Events: []agent.Event{event(agent.ValuesEmitted)}}))
	require.Eventually(t, func() bool {
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		return b.store.reserved == reserve
	}, 5*time.Second, time.Millisecond)
	_, err := b.recorder.close(context.Background())
	require.NoError(t, err)
	require.Greater(t, b.recorder.lease.PosReserved, b.recorder.pos+reserve)
}

func TestRecorderKeepsTheOrderOfManyVoices(t *testing.T) {
	t.Parallel()
	b := newRecorderBundle(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				if j%10 == i {
					if err := b.recorder.Commit(context.Background(), agent.Commit{Events: []agent.Event{event(agent.UpdatesEmitted)}}); err != nil {
						t.Error(err)
					}
					continue
				}
				b.recorder.Emit(delta("x"))
			}
		})
	}
	wg.Wait()
	require.NoError(t, b.recorder.Commit(context.Background(), agent.Commit{Outcome: &agent.Outcome{Status: "success"}}))
	seen := b.reading.entries()
	require.Len(t, seen, 8*200+1)
	for i, e := range seen {
		require.Equal(t, int64(5+i), e.Pos)
	}
	require.Equal(t, seen, b.store.stored())
}
