package protocol_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/stream/protocol"
)

func label(channel protocol.Channel, ns, name string) *frame.Label {
	return &frame.Label{Channel: uint16(channel), NS: ns, Name: name}
}

func depth(n int) *int { return &n }

// The rules of spec/streaming-protocol.md 1.4. // M-7, M-35
func TestFilter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		sub  protocol.Subscription
		pass []*frame.Label
		drop []*frame.Label
	}{
		{"no channel", protocol.Subscription{Channels: []string{}}, nil, []*frame.Label{label(protocol.Values, "", "")}},
		{
			"channels", protocol.Subscription{Channels: []string{"values", "input", "what"}},
			[]*frame.Label{label(protocol.Values, "", ""), label(protocol.Values, "a:1|b:2", ""), label(protocol.Input, "", "")},
			[]*frame.Label{label(protocol.Updates, "", ""), label(protocol.Custom, "", "what")},
		},
		{
			"a custom filter takes named ones", protocol.Subscription{Channels: []string{"custom"}},
			[]*frame.Label{label(protocol.Custom, "", ""), label(protocol.Custom, "", "status")}, nil,
		},
		{
			"a named one takes its own", protocol.Subscription{Channels: []string{"custom:status"}},
			[]*frame.Label{label(protocol.Custom, "", "status")},
			[]*frame.Label{label(protocol.Custom, "", ""), label(protocol.Custom, "", "other")},
		},
		{
			"root content", protocol.Subscription{Channels: []string{"values"}, Namespaces: [][]string{{}}, Depth: depth(1)},
			[]*frame.Label{label(protocol.Values, "", ""), label(protocol.Values, "a:1", "")},
			[]*frame.Label{label(protocol.Values, "a:1|b:2", "")},
		},
		{
			"depth counts from the root", protocol.Subscription{Channels: []string{"values"}, Depth: depth(0)},
			[]*frame.Label{label(protocol.Values, "", "")}, []*frame.Label{label(protocol.Values, "a:1", "")},
		},
		{
			"prefix with id", protocol.Subscription{Channels: []string{"values"}, Namespaces: [][]string{{"a:1"}}, Depth: depth(1)},
			[]*frame.Label{label(protocol.Values, "a:1", ""), label(protocol.Values, "a:1|b:2", "")},
			[]*frame.Label{label(protocol.Values, "", ""), label(protocol.Values, "a:2", ""), label(protocol.Values, "a:1|b:2|c:3", "")},
		},
		{
			"prefix without id", protocol.Subscription{Channels: []string{"values"}, Namespaces: [][]string{{"a", "b"}, {"z"}}},
			[]*frame.Label{label(protocol.Values, "a:1|b:2", ""), label(protocol.Values, "a|b:2|c:3", ""), label(protocol.Values, "z:9", "")},
			[]*frame.Label{label(protocol.Values, "a:1", ""), label(protocol.Values, "ab:1|b:2", ""), label(protocol.Values, "a:1|c:2", "")},
		},
	} {
		f := protocol.NewFilter(c.sub)
		for _, l := range c.pass {
			require.True(t, f.Passes(l), "%s: %v", c.name, *l)
			require.NotZero(t, f.Channels()&protocol.Channel(l.Channel), c.name)
		}
		for _, l := range c.drop {
			require.False(t, f.Passes(l), "%s: %v", c.name, *l)
		}
	}
}

// Any of several filters is enough, and a filter is what its words say.
func TestFiltersAgreeWithTheirWords(t *testing.T) {
	t.Parallel()
	segment := rapid.SampledFrom([]string{"a", "b", "a:1", "a:2", "b:1"})
	rapid.Check(t, func(t *rapid.T) {
		sub := protocol.Subscription{
			Channels:   rapid.SliceOf(rapid.SampledFrom([]string{"values", "custom", "custom:x", "tasks"})).Draw(t, "channels"),
			Namespaces: rapid.SliceOfN(rapid.SliceOfN(segment, 0, 2), 0, 2).Draw(t, "namespaces"),
		}
		if rapid.Bool().Draw(t, "deep") {
			sub.Depth = depth(rapid.IntRange(0, 2).Draw(t, "depth"))
		}
		ns := rapid.SliceOfN(segment, 0, 3).Draw(t, "ns")
		l := label(rapid.SampledFrom([]protocol.Channel{protocol.Values, protocol.Custom, protocol.Tasks}).Draw(t, "channel"), strings.Join(ns, "|"), "")
		if protocol.Channel(l.Channel) == protocol.Custom {
			l.Name = rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "name")
		}
		require.Equal(t, passes(sub, l, ns), protocol.NewFilter(sub).Passes(l))
		require.Equal(t, passes(sub, l, ns), protocol.Filters{protocol.NewFilter(protocol.Subscription{}), protocol.NewFilter(sub)}.Passes(l))
	})
}

// passes says the same in the words of the specification.
func passes(sub protocol.Subscription, l *frame.Label, ns []string) bool {
	inChannel := false
	for _, c := range sub.Channels {
		switch protocol.Channel(l.Channel) {
		case protocol.Values:
			inChannel = inChannel || c == "values"
		case protocol.Tasks:
			inChannel = inChannel || c == "tasks"
		case protocol.Custom:
			inChannel = inChannel || c == "custom" || l.Name != "" && c == "custom:"+l.Name
		}
	}
	prefixes := sub.Namespaces
	if len(prefixes) == 0 {
		prefixes = [][]string{{}}
	}
	for _, p := range prefixes {
		matches := len(ns) >= len(p) && (sub.Depth == nil || len(ns)-len(p) <= *sub.Depth)
		for i := 0; matches && i < len(p); i++ {
			name, _, _ := strings.Cut(ns[i], ":")
			matches = p[i] == ns[i] || !strings.Contains(p[i], ":") && p[i] == name
		}
		if matches {
			return inChannel
		}
	}
	return false
}

func TestEventIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]int64{
		"1796043812103-20": 20, "synth:01a22c8d-aceb-7774-94e8-13c3fd2fa4ad:7": 7, " 1-2 ": 2, "12": 12, "synth:gap:3": 3,
		"": -1, "-1": -1, "x-1": -1, "1-x": -1, "1-": -1, "synth:run": -1, "1--2": -1, "1-2.1": -1,
	} {
		seq, ok := protocol.ParseEventID(id)
		require.Equal(t, want >= 0, ok, id)
		if ok {
			require.Equal(t, want, seq, id)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	cmd, err := protocol.ParseCommand([]byte(`{"id":7,"method":"run.start","params":{"a":1},"extra":true}`))
	require.NoError(t, err)
	require.EqualValues(t, 7, cmd.ID)
	require.Equal(t, "run.start", cmd.Method)
	require.JSONEq(t, `{"a":1}`, string(cmd.Params))
	for raw, text := range map[string]string{
		`{`: protocol.TextNotJSON, ``: protocol.TextNotJSON, `1`: protocol.TextNoCommand, `{"id":-1,"method":"x"}`: protocol.TextNoCommand,
		`{"id":1e20,"method":"x"}`: protocol.TextNoCommand, `{"id":1,"method":2}`: protocol.TextNoCommand, `null`: protocol.TextNoCommand,
	} {
		_, err := protocol.ParseCommand([]byte(raw))
		var refusal *protocol.Refusal
		require.ErrorAs(t, err, &refusal, raw)
		require.Equal(t, text, refusal.Message, raw)
		require.Equal(t, protocol.InvalidArgument, refusal.Code)
	}
	sub, err := protocol.ParseSubscription([]byte(`{"channels":["values"],"namespaces":[["a"]],"depth":1,"since":4,"other":0}`))
	require.NoError(t, err)
	require.Equal(t, []string{"values"}, sub.Channels)
	require.EqualValues(t, 4, *sub.Since)
	for _, raw := range []string{``, `null`, `{}`, `{"channels":"values"}`, `{"channels":[],"depth":-1}`, `{"channels":[],"since":-1}`, `{"channels":[],"namespaces":["a"]}`} {
		_, err := protocol.ParseSubscription([]byte(raw))
		require.Error(t, err, raw)
	}
}
