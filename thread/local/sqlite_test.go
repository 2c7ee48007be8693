package local

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValuesPassThroughTheLibrary(t *testing.T) {
	t.Parallel()
	c, err := openConn(":memory:", false)
	require.NoError(t, err)
	defer c.close()
	long := strings.Repeat("é", 100_000)
	for _, v := range []struct {
		value any
		kind  string
		text  string
	}{
		{1, "integer", "1"},
		{int64(-1 << 62), "integer", "-4611686018427387904"},
		{true, "integer", "1"},
		{"", "text", ""},
		{"a\x00b", "text", "a\x00b"},
		{long, "text", long},
		{[]byte(nil), "null", ""},
		{[]byte{}, "blob", ""},
		{[]byte{0, 255}, "blob", "\x00\xff"},
		{json.RawMessage(`{"a":1}`), "text", `{"a":1}`},
		{json.RawMessage(nil), "null", ""},
		{nil, "null", ""},
	} {
		var kind, text string
		ok, err := c.one(func(r *rows) { kind, text = r.text(0), r.text(1) }, "SELECT typeof(?1), ?1", v.value)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, v.kind, kind, "%#v", v.value)
		if v.kind != "integer" {
			require.Equal(t, v.text, text)
		}
	}
	_, err = c.exec("SELECT ?", struct{}{})
	require.Error(t, err)
}

func TestStatementsAreKeptAndCanBeNested(t *testing.T) {
	t.Parallel()
	c, err := openConn(":memory:", false)
	require.NoError(t, err)
	defer c.close()
	require.NoError(t, c.run("CREATE TABLE t(k INTEGER PRIMARY KEY, v BLOB)"))
	for i := range 10 {
		n, err := c.exec("INSERT INTO t(v) VALUES(?)", bytes.Repeat([]byte{byte(i)}, i*1000))
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	r := c.query("SELECT k, v FROM t ORDER BY k")
	seen := 0
	for r.next() {
		var length int64
		_, err := c.one(func(r *rows) { length = r.int(0) }, "SELECT length(v) FROM t WHERE k=?", r.int(0))
		require.NoError(t, err)
		require.Len(t, r.blob(1), int(length))
		_, err = c.exec("SELECT k, v FROM t ORDER BY k")
		require.Error(t, err, "a statement is in use once")
		seen++
	}
	require.NoError(t, r.close())
	require.Equal(t, 10, seen)
	require.Len(t, c.stmts, 3)
}

func TestErrorsNameTheStatement(t *testing.T) {
	t.Parallel()
	c, err := openConn(":memory:", false)
	require.NoError(t, err)
	defer c.close()
	_, err = c.exec("SELECT * FROM nowhere")
	require.ErrorContains(t, err, "nowhere")
	require.NoError(t, c.run("CREATE TABLE t(k INTEGER PRIMARY KEY)"))
	_, err = c.exec("INSERT INTO t VALUES(1)")
	require.NoError(t, err)
	_, err = c.exec("INSERT INTO t VALUES(1)")
	require.ErrorContains(t, err, "UNIQUE")
	require.ErrorContains(t, err, "INSERT INTO t")
	_, err = c.exec("INSERT INTO t VALUES(2)")
	require.NoError(t, err, "a failed statement can be used again")
}

func TestReadersCannotWrite(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	err := s.r.do(t.Context(), func(c *conn) error {
		_, err := c.exec("DELETE FROM threads")
		return err
	})
	require.ErrorContains(t, err, "readonly")
}
