package exactjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/exactjson"
)

func TestRepeatedKeysAreFoundWhereTheyStand(t *testing.T) {
	t.Parallel()
	many := func(last string) string {
		var b strings.Builder
		b.WriteString(`{"list":[1,{`)
		for i := range 100 {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return b.String() + `"` + last + `":0}]}`
	}
	for in, want := range map[string]string{
		`{"type":"reject","type":"approve"}`:                      "/type",
		`{"a":1,"b":{"c":[{"x":1},{"x":1,"y":{},"x":2}]}}`:        "/b/c/1/x",
		`{"decision":"reject","d\u0065cision":"approve"}`:         "/decision",
		`{"\ud800":1,"\udfff":2}`:                                 "/\ufffd",
		"{\"\xff\":1,\"\xfe\":2}":                                 "/\ufffd",
		`{"a/b~c":1,"a/b~c":1}`:                                   "/a~1b~0c",
		` { "a" : [ 1 , 2 ] , "a" : null } `:                      "/a",
		`{"":1,"":2}`:                                             "/",
		`[[],[[{"a":"\\","a":"\""}]]]`:                            "/1/0/0/a",
		`{"a":"\"a\":1","b\\":1,"b\\":2}`:                         `/b\`,
		many("k3"):                                                "/list/1/k3",
		`{"a":{"x":1},"b":{"x":1},"a":{}}`:                        "/a",
		`{"a":1,"A":2}`:                                           "",
		`{"a":{"a":{"a":1}},"b":["a","a"],"c":[{"a":1},{"a":1}]}`: "",
		many("k100"):                                              "",
		`{"a":"{\"a\":1,\"a\"}"}`:                                 "",
		`"a"`:                                                     "",
		`[]`:                                                      "",
		``:                                                        "",
		`}`:                                                       "",
		`{"a`:                                                     "",
	} {
		got, ok := exactjson.Repeated([]byte(in))
		require.Equal(t, want, got, in)
		require.Equal(t, want != "", ok, in)
	}
}

// repeats looks for repeated keys by encoding/json's own reading.
func repeats(dec *json.Decoder) (bool, error) {
	tok, err := dec.Token()
	if err != nil {
		return false, err
	}
	open, ok := tok.(json.Delim)
	if !ok {
		return false, nil
	}
	seen, again := map[string]bool{}, false
	for dec.More() {
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return false, err
			}
			again = again || seen[key.(string)]
			seen[key.(string)] = true
		}
		inner, err := repeats(dec)
		if err != nil {
			return false, err
		}
		again = again || inner
	}
	_, err = dec.Token()
	return again, err
}

// FuzzRepeated: of what is JSON, it says what encoding/json says.
func FuzzRepeated(f *testing.F) {
	for _, seed := range []string{`{"a":1,"a":2}`, `{"a":{"b":[1,{"c":"\\\""}]},"\u0061":0}`, `[{"x":"}"},{"x":"{"}]`, "{\"\xff\":1,\"\xfe\":\"\\ud800\"}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		pointer, got := exactjson.Repeated(raw)
		if !json.Valid(raw) {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		want, err := repeats(dec)
		if err != nil && !errors.Is(err, io.EOF) {
			return // deeper than encoding/json goes
		}
		require.Equal(t, want, got)
		require.Equal(t, got, strings.HasPrefix(pointer, "/"))
	})
}

// A run's body of 1 MB: what looking for repeated keys adds to reading it.
func BenchmarkRepeated(b *testing.B) {
	message := `{"type":"human","id":"m%d","content":"` + strings.Repeat("All work and no play. ", 20) + `","additional_kwargs":{}}`
	var list []string
	for i := range 2000 {
		list = append(list, fmt.Sprintf(message, i))
	}
	body := []byte(`{"assistant_id":"a","command":{"resume":{"ok":true},"update":{"messages":[` + strings.Join(list, ",") + `]}}}`)
	b.Run("Valid", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if !json.Valid(body) {
				b.Fatal("not JSON")
			}
		}
	})
	b.Run("Repeated", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := exactjson.Repeated(body); ok {
				b.Fatal("repeated")
			}
		}
	})
}
