package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbered returns n human messages, m<from>, m<from+1>, …
func numbered(from, n int) []Message {
	messages := make([]Message, n)
	for i := range messages {
		messages[i] = NewHuman(fmt.Sprintf("text %d", from+i))
		messages[i].ID = fmt.Sprintf("m%d", from+i)
	}
	return messages
}

func ids(l List) []string {
	out := []string{}
	for _, m := range l.All() {
		out = append(out, m.ID)
	}
	return out
}

func TestListReads(t *testing.T) {
	t.Parallel()
	var empty List
	require.Zero(t, empty.Len())
	require.Equal(t, `[]`, string(empty.AppendJSON(nil)))
	_, ok := empty.Last()
	require.False(t, ok)
	require.Panics(t, func() { empty.Raw(0) })

	l := New(numbered(0, 2)...).Fork().Append(numbered(2, 2)...)
	require.Equal(t, 4, l.Len())
	require.Equal(t, []string{"m0", "m1", "m2", "m3"}, ids(l))
	last, ok := l.Last()
	require.True(t, ok)
	require.Equal(t, "m3", last.ID)
	require.Equal(t, "text 1", l.At(1).Text())
	var back []int
	for i, m := range l.Backward() {
		require.Equal(t, fmt.Sprintf("m%d", i), m.ID)
		if back = append(back, i); i == 1 {
			break
		}
	}
	require.Equal(t, []int{3, 2, 1}, back)
	p, ok := l.Find("m2")
	require.True(t, ok)
	require.Equal(t, 2, p)
	_, ok = l.Find("m4")
	require.False(t, ok)
	require.Panics(t, func() { l.Raw(4) })

	var again List
	raw, err := json.Marshal(l)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &again))
	require.Equal(t, string(raw), string(again.AppendJSON(nil)))
	require.NoError(t, json.Unmarshal([]byte(`null`), &again))
	require.Zero(t, again.Len())
	require.Panics(t, func() { New(Message{Type: Human, Content: json.RawMessage(`oops`)}) })
}

func TestListUnmarshalCoercesAndGivesNoIDs(t *testing.T) {
	t.Parallel()
	var l List
	require.NoError(t, json.Unmarshal([]byte(`["hi", {"role":"assistant","content":"yo"}]`), &l))
	require.Equal(t, []string{"human/:hi", "ai/:yo"}, brief(l))
	require.Error(t, json.Unmarshal([]byte(`[1]`), &l))

	// The reducer gives ids to old messages, too (spec/runtime.md 4.1).
	l, err := Reduce(l, json.RawMessage(`"more"`), counter())
	require.NoError(t, err)
	require.Equal(t, []string{"human/new-2:hi", "ai/new-3:yo", "human/new-1:more"}, brief(l))
}

func TestAppendToOnePrefixTwiceKeepsBothLists(t *testing.T) {
	t.Parallel()
	base := New(numbered(0, 3)...)
	one := base.Append(numbered(3, 2)...)
	two := base.Append(numbered(7, 1)...)
	require.Equal(t, []string{"m0", "m1", "m2"}, ids(base))
	require.Equal(t, []string{"m0", "m1", "m2", "m3", "m4"}, ids(one))
	require.Equal(t, []string{"m0", "m1", "m2", "m7"}, ids(two))
	require.Equal(t, base.Ref().Segment, one.Ref().Segment)
	require.NotEqual(t, base.Ref().Segment, two.Ref().Segment)

	// What one fork holds isn't found in the other.
	_, ok := two.Find("m4")
	require.False(t, ok)
	_, ok = base.Find("m3")
	require.False(t, ok)
	p, ok := two.Find("m7")
	require.True(t, ok)
	require.Equal(t, 3, p)
}

func TestAppendOfTheSameIsShared(t *testing.T) {
	t.Parallel()
	base := New(numbered(0, 3)...)
	trial := base.Append(numbered(3, 2)...)
	require.Equal(t, trial.Ref(), base.Append(numbered(3, 2)...).Ref())
	longer := base.Append(numbered(3, 4)...)
	require.Equal(t, Ref{Segment: trial.Ref().Segment, Len: 7}, longer.Ref())
	require.Equal(t, 5, trial.Len())
	require.Equal(t, Ref{Segment: trial.Ref().Segment, Len: 4}, base.Append(numbered(3, 1)...).Ref())
}

func TestForkLeavesTheSegmentAlone(t *testing.T) {
	t.Parallel()
	base := New(numbered(0, 3)...)
	trial := base.Fork().Append(numbered(10, 1)...)
	require.Equal(t, []string{"m0", "m1", "m2", "m10"}, ids(trial))
	real := base.Append(numbered(3, 1)...)
	require.Equal(t, base.Ref().Segment, real.Ref().Segment)
	// A list made from a fork grows as any other.
	require.Equal(t, trial.Ref().Segment, trial.Append(numbered(11, 1)...).Ref().Segment)
}

func TestConcurrentAppendsToOnePrefix(t *testing.T) {
	t.Parallel()
	base := New(numbered(0, 50)...)
	var wg sync.WaitGroup
	lists := make([]List, 16)
	for i := range lists {
		wg.Go(func() {
			l := base
			for j := range 40 {
				l = l.Append(numbered(1000*(i+1)+j, 1)...)
				if _, ok := l.Find(fmt.Sprintf("m%d", 1000*(i+1)+j)); !ok {
					panic("not found")
				}
			}
			lists[i] = l
		})
	}
	wg.Wait()
	for i, l := range lists {
		require.Equal(t, 90, l.Len())
		require.Equal(t, "m49", l.At(49).ID)
		for j := range 40 {
			require.Equal(t, fmt.Sprintf("m%d", 1000*(i+1)+j), l.At(50+j).ID)
		}
	}
}

func TestReplaceSharesThePrefix(t *testing.T) {
	t.Parallel()
	old := New(numbered(0, 10)...)
	got, err := Reduce(old, json.RawMessage(`{"type":"human","id":"m7","content":"new"}`), counter())
	require.NoError(t, err)
	require.Equal(t, ids(old), ids(got))
	require.Equal(t, "new", got.At(7).Text())
	require.Equal(t, "text 7", old.At(7).Text())
	need := got.SinceList(old)
	require.Len(t, need, 1)
	require.Equal(t, Ref{Segment: old.Ref().Segment, Len: 7}, need[0].Base)
	require.Len(t, need[0].Entries, 3)

	// Replaced by itself: nothing changes, nothing needs storing.
	same, err := Reduce(old, old.AppendJSON(nil), counter())
	require.NoError(t, err)
	require.Equal(t, old.Ref(), same.Ref())
	require.Empty(t, same.Since(old.Ref()))

	// The last one removed: a shorter list of the same segment.
	shorter, err := Reduce(old, json.RawMessage(`{"type":"remove","id":"m9"}`), counter())
	require.NoError(t, err)
	require.Equal(t, Ref{Segment: old.Ref().Segment, Len: 9}, shorter.Ref())
	require.Empty(t, shorter.Since(old.Ref()))
}

func TestChainsStayShort(t *testing.T) {
	t.Parallel()
	for name, big := range map[string]int{"small forks": 1, "forks behind a long list": 400} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New(numbered(0, big)...)
			stored, copied := l, 0
			want := ids(l)
			for i := range 600 {
				m := numbered(10_000+i, 1)
				l = l.Fork().Append(m...)
				if i == 14 { // a long piece upon short ones must not be copied again and again
					l = l.Append(numbered(5_000, 400)...)
				}
				for _, a := range l.SinceList(stored) {
					copied += len(a.Entries)
				}
				stored = l
				want = append(want, m[0].ID)
				if i == 14 {
					for _, m := range numbered(5_000, 400) {
						want = append(want, m.ID)
					}
				}
				require.LessOrEqual(t, l.depth(), maxDepth)
			}
			require.Equal(t, want, ids(l))
			require.Less(t, copied, 20*len(want))
		})
	}
}

func TestSinceAsksForWhatIsNew(t *testing.T) {
	t.Parallel()
	l := New(numbered(0, 3)...)
	all := l.Since(Ref{})
	require.Len(t, all, 1)
	require.Equal(t, 0, all[0].From)
	require.Len(t, all[0].Entries, 3)

	more := l.Append(numbered(3, 2)...)
	next := more.Since(l.Ref())
	require.Len(t, next, 1)
	require.Equal(t, SegmentAppend{Segment: l.Ref().Segment, From: 3, Entries: next[0].Entries}, next[0])
	require.Len(t, next[0].Entries, 2)
	require.Empty(t, l.Since(more.Ref()))

	fork := l.Append(numbered(9, 1)...)
	needs := fork.Since(l.Ref())
	require.Len(t, needs, 1)
	require.Equal(t, l.Ref(), needs[0].Base)
	require.Len(t, fork.Since(Ref{}), 2)
	require.Empty(t, List{}.Since(l.Ref()))
	require.Equal(t, Ref{}, List{}.Ref())
}

func TestLoadReportsWhatIsMissing(t *testing.T) {
	t.Parallel()
	store := newStore()
	l := New(numbered(0, 3)...)
	store.put(t, l.Since(Ref{}))

	l2, err := Load(Ref{Segment: l.Ref().Segment, Len: 4}, false, store.get)
	require.ErrorIs(t, err, ErrCorrupt)
	require.Zero(t, l2.Len())
	_, err = Load(Ref{Segment: "nowhere", Len: 1}, false, store.get)
	require.ErrorIs(t, err, errNoSegment)
	circle := func(string, int) (Segment, error) {
		return Segment{ID: "c", Base: Ref{Segment: "c", Len: 1}, Entries: []json.RawMessage{l.Raw(0)}}, nil
	}
	_, err = Load(Ref{Segment: "c", Len: 1}, false, circle)
	require.ErrorIs(t, err, ErrCorrupt)
	empty, err := Load(Ref{}, false, nil)
	require.NoError(t, err)
	require.Zero(t, empty.Len())
}

func TestAppendToALoadedListThatIsSealedOpensASegment(t *testing.T) {
	t.Parallel()
	store := newStore()
	l := New(numbered(0, 3)...)
	store.put(t, l.Append(numbered(3, 1)...).Since(Ref{}))

	sealed, err := Load(l.Ref(), true, store.get)
	require.NoError(t, err)
	fork := sealed.Append(numbered(8, 1)...)
	require.NotEqual(t, l.Ref().Segment, fork.Ref().Segment)
	store.put(t, fork.Since(l.Ref()))

	head, err := Load(fork.Ref(), false, store.get)
	require.NoError(t, err)
	require.Equal(t, []string{"m0", "m1", "m2", "m8"}, ids(head))
	require.Equal(t, fork.Ref().Segment, head.Append(numbered(9, 1)...).Ref().Segment)
	// Cut back to its base, the list mustn't grow into the base's segment.
	cut, err := Reduce(head, json.RawMessage(`{"type":"remove","id":"m8"}`), counter())
	require.NoError(t, err)
	require.Equal(t, l.Ref(), cut.Ref())
	grown := cut.Append(numbered(20, 1)...)
	require.NotEqual(t, l.Ref().Segment, grown.Ref().Segment)
	store.put(t, grown.SinceList(head))
}

var errNoSegment = errors.New("no such segment")

// memoryStore keeps segments as a store does: it refuses to change an entry or a base.
type memoryStore struct{ segments map[string]Segment }

func newStore() *memoryStore { return &memoryStore{segments: map[string]Segment{}} }

func (s *memoryStore) put(t require.TestingT, appends []SegmentAppend) {
	for _, a := range appends {
		seg, known := s.segments[a.Segment]
		if known {
			require.Equal(t, seg.Base, a.Base, "the base of a segment never changes")
		}
		if a.Base.Segment != "" {
			require.GreaterOrEqual(t, len(s.segments[a.Base.Segment].Entries), a.Base.Len, "bases come first")
		}
		seg.ID, seg.Base = a.Segment, a.Base
		require.LessOrEqual(t, a.From, len(seg.Entries), "no hole")
		for i, e := range a.Entries {
			if p := a.From + i; p < len(seg.Entries) {
				require.Equal(t, string(seg.Entries[p]), string(e), "an entry never changes")
			} else {
				seg.Entries = append(seg.Entries[:p:p], e)
			}
		}
		s.segments[a.Segment] = seg
	}
}

func (s *memoryStore) get(id string, n int) (Segment, error) {
	seg, ok := s.segments[id]
	if !ok {
		return Segment{}, errNoSegment
	}
	seg.Entries = seg.Entries[:min(n, len(seg.Entries))]
	return seg, nil
}
