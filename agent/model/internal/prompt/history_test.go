package prompt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// anyMessage makes messages with few ids, so that they meet, lack and repeat each other.
func anyMessage(t *rapid.T) message.Message {
	id := rapid.SampledFrom([]string{"a", "b", "c", "", "functions.x:0"})
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return message.NewHuman("q")
	case 1:
		return message.NewTool(id.Draw(t, "for"), "t", "r")
	case 2:
		return message.NewSystem("s")
	}
	m := message.NewAI("x")
	seen := map[string]bool{}
	for range rapid.IntRange(0, 3).Draw(t, "calls") {
		if call := id.Draw(t, "call"); !seen[call] {
			seen[call] = true
			m.ToolCalls = append(m.ToolCalls, message.NewToolCall(call, "t", json.RawMessage(`{}`)))
		}
	}
	if call := id.Draw(t, "invalid"); rapid.Bool().Draw(t, "has invalid") && !seen[call] {
		m.InvalidToolCalls = append(m.InvalidToolCalls, message.InvalidToolCall{ID: call, Name: "t", Args: "{"})
	}
	return m
}

// Whatever was done to a history, providers accept it: behind each ai message
// its calls' results, one each, in order, and no result anywhere else.
func TestEveryHistoryIsLegal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.Custom(anyMessage), 0, 12).Draw(t, "history")
		out := History(message.New(in...))
		var others, kept int
		for _, m := range in {
			if m.Type != message.Tool {
				others++
			}
		}
		for i := 0; i < len(out); i++ {
			require.NotEqual(t, message.Tool, out[i].Type, "a result without its call")
			kept++
			for _, c := range out[i].ToolCalls {
				i++
				require.Less(t, i, len(out))
				require.Equal(t, message.Tool, out[i].Type)
				require.Equal(t, c.ID, out[i].ToolCallID)
			}
		}
		require.Equal(t, others, kept, "nothing but results is left out")
	})
}

func TestHistoryFindsResultsThatCameLate(t *testing.T) {
	t.Parallel()
	ai := message.NewAI("", message.NewToolCall("a", "t", json.RawMessage(`{}`)))
	again := message.NewAI("again", message.NewToolCall("a", "t", json.RawMessage(`{}`)))
	out := History(message.New(
		ai, message.NewHuman("in between"), message.NewTool("a", "t", "first"),
		again, message.NewTool("a", "t", "old"), message.NewTool("a", "t", "new"),
	))
	var texts []string
	for _, m := range out {
		texts = append(texts, m.Type+":"+m.Text())
	}
	require.Equal(t, []string{"ai:", "tool:first", "human:in between", "ai:again", "tool:new"}, texts)
}

func TestCallIDsFitEveryProvider(t *testing.T) {
	t.Parallel()
	for _, same := range []string{"call_abc", "toolu_01ABC-x", strings.Repeat("a", 40)} {
		require.Equal(t, same, CallID(same))
	}
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.String().Draw(t, "id")
		got := CallID(id)
		require.Regexp(t, `^[A-Za-z0-9_-]{1,40}$`, got)
		require.Equal(t, got, CallID(id))
		require.Equal(t, got, CallID(got))
	})
	require.NotEqual(t, CallID("a:0"), CallID("a:1"))
}

func TestNamesFitAndComeBack(t *testing.T) {
	t.Parallel()
	n := NewNames([]model.Tool{{Name: "files.read"}, {Name: "files/read"}, {Name: "files_read"}, {Name: "now"}})
	require.Equal(t, "files_read", n.Wire("files_read"), "one that fits keeps its name")
	require.Equal(t, "elsewhere_x", n.Wire("elsewhere.x"), "of a history")
	require.Equal(t, "unknown", n.Own("unknown"))
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.RuneFrom([]rune("ab._/é")), 1, 80, -1), 1, 12, func(s string) string { return s }).Draw(t, "names")
		var tools []model.Tool
		for _, name := range names {
			tools = append(tools, model.Tool{Name: name})
		}
		n := NewNames(tools)
		seen := map[string]bool{}
		for _, name := range names {
			w := n.Wire(name)
			require.Regexp(t, `^[A-Za-z0-9_-]{1,64}$`, w)
			require.Equal(t, name, n.Own(w))
			require.False(t, seen[w], w)
			seen[w] = true
		}
	})
}

func TestPartsReadsAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{`"x"`, `""`, `7`, `null`, `{}`, `[]`, `"data:image/png;base64,QQ=="`, `"data:,"`, `"data:x"`, `{"type":"base64","data":"QQ=="}`, `{"url":"u"}`})
		var b strings.Builder
		fmt.Fprintf(&b, `{"type":"%s"`, rapid.SampledFrom([]string{"text", "image", "image_url", "audio", "input_audio", "video", "file", "document", "text-plain", "reasoning", "thinking", "redacted_thinking", "tool_use", "non_standard", "x", ""}).Draw(t, "type"))
		for range rapid.IntRange(0, 4).Draw(t, "keys") {
			fmt.Fprintf(&b, `,"%s":%s`, rapid.SampledFrom([]string{"text", "url", "data", "source", "image_url", "mime_type", "file", "file_id", "value", "thinking", "reasoning", "extras", "input_audio", "source_type"}).Draw(t, "key"), value.Draw(t, "value"))
		}
		b.WriteString("}")
		parts, err := Parts(message.Message{Content: json.RawMessage("[" + b.String() + "]")})
		if err != nil {
			return
		}
		for _, p := range parts {
			if p.Media() {
				require.True(t, p.URL != "" || p.Data != "" || p.FileID != "")
				require.True(t, p.Data == "" || p.MIME != "")
			}
		}
	})
	_, err := Parts(message.Message{Content: json.RawMessage(`7`)})
	require.Error(t, err)
	_, err = Parts(message.Message{Content: json.RawMessage(`[7]`)})
	require.Error(t, err)
}
