package local

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// conn is one SQLite connection with its prepared statements. It talks to the
// library directly: database/sql costs as much per statement as the statement
// itself. A conn is used by one goroutine at a time.
type conn struct {
	tls   *libc.TLS
	db    uintptr
	out   uintptr // room for one pointer that the library returns
	stmts map[string]*stmt
	// wrote is set by every statement that may change the database.
	wrote bool
}

// stmt is a prepared statement. The values bound to it live in buf, outside of Go's heap.
type stmt struct {
	c      *conn
	handle uintptr
	sql    string
	writes bool
	buf    uintptr
	size   int
	busy   bool
}

// keepBuffer is how much memory for bound values a statement keeps between calls.
const keepBuffer = 16 << 10

// sqlError is an error of the library: its extended result code and text.
type sqlError struct {
	code int32
	text string
	sql  string
}

func (e *sqlError) Error() string {
	if e.sql == "" {
		return fmt.Sprintf("sqlite: %s (%d)", e.text, e.code)
	}
	return fmt.Sprintf("sqlite: %s (%d) in %q", e.text, e.code, e.sql)
}

// useFdatasync makes commits wait for data alone where the system can do that.
// The error says that it can't, which is no failure.
func useFdatasync() { _, _ = sqlite.Fdatasync(true) }

// openConn opens the database at path, which must not be open in other processes.
func openConn(path string, readOnly bool) (*conn, error) {
	flags := int32(sqlite3.SQLITE_OPEN_NOMUTEX | sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_CREATE)
	c := &conn{tls: libc.NewTLS(), stmts: map[string]*stmt{}}
	c.out = libc.Xmalloc(c.tls, 8)
	name, err := libc.CString(path)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, name)
	rc := sqlite3.Xsqlite3_open_v2(c.tls, name, c.out, flags, 0)
	c.db = c.returned()
	if rc != sqlite3.SQLITE_OK {
		err := c.fail(rc, "")
		c.close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	sqlite3.Xsqlite3_busy_timeout(c.tls, c.db, 10_000)
	if readOnly {
		err = c.run("PRAGMA query_only=1")
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// returned reads the pointer that the library stored in c.out.
func (c *conn) returned() uintptr {
	return uintptr(binary.NativeEndian.Uint64(memory(c.out, 8)))
}

// memory is n bytes of the library's memory, valid until it is freed.
func memory(p uintptr, n int) []byte { return libc.GoBytes(p, n) }

func (c *conn) fail(rc int32, sql string) error {
	text := "out of memory"
	if c.db != 0 {
		text = libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db))
		rc = sqlite3.Xsqlite3_extended_errcode(c.tls, c.db)
	}
	return &sqlError{code: rc, text: text, sql: sql}
}

// close ends the connection and frees what it holds.
func (c *conn) close() {
	for _, s := range c.stmts {
		s.finalize()
	}
	if c.db != 0 {
		sqlite3.Xsqlite3_close_v2(c.tls, c.db)
	}
	libc.Xfree(c.tls, c.out)
	c.tls.Close()
}

// run executes SQL that isn't worth keeping prepared; several statements may follow one another.
func (c *conn) run(sql string) error {
	z, err := libc.CString(sql)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, z)
	if rc := sqlite3.Xsqlite3_exec(c.tls, c.db, z, 0, 0, 0); rc != sqlite3.SQLITE_OK {
		return c.fail(rc, sql)
	}
	return nil
}

func (c *conn) prepare(sql string) (*stmt, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	z, err := libc.CString(sql)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, z)
	rc := sqlite3.Xsqlite3_prepare_v3(c.tls, c.db, z, -1, sqlite3.SQLITE_PREPARE_PERSISTENT, c.out, 0)
	if rc != sqlite3.SQLITE_OK {
		return nil, c.fail(rc, sql)
	}
	s := &stmt{c: c, handle: c.returned(), sql: sql}
	s.writes = sqlite3.Xsqlite3_stmt_readonly(c.tls, s.handle) == 0
	c.stmts[sql] = s
	return s, nil
}

func (s *stmt) finalize() {
	sqlite3.Xsqlite3_finalize(s.c.tls, s.handle)
	if s.buf != 0 {
		libc.Xfree(s.c.tls, s.buf)
	}
}

// bind binds args: int, int64, bool, string, json.RawMessage (text), []byte, id
// or nil. A nil slice is NULL.
func (s *stmt) bind(args []any) error {
	need := 0
	for _, a := range args {
		switch v := a.(type) {
		case string:
			need += len(v)
		case []byte:
			need += len(v)
		case json.RawMessage:
			need += len(v)
		case id:
			need += len(v)
		}
	}
	if need > s.size {
		if s.buf != 0 {
			libc.Xfree(s.c.tls, s.buf)
		}
		s.size = max(need, 256)
		s.buf = libc.Xmalloc(s.c.tls, libc.Tsize_t(s.size))
		if s.buf == 0 {
			s.size = 0
			return &sqlError{code: sqlite3.SQLITE_NOMEM, text: "out of memory", sql: s.sql}
		}
	}
	at := s.buf
	place := func(b []byte) uintptr {
		p := at
		copy(memory(p, len(b)), b)
		at += uintptr(len(b))
		return p
	}
	tls, h := s.c.tls, s.handle
	for i, a := range args {
		n := int32(i + 1)
		var rc int32
		switch v := a.(type) {
		case int:
			rc = sqlite3.Xsqlite3_bind_int64(tls, h, n, int64(v))
		case int64:
			rc = sqlite3.Xsqlite3_bind_int64(tls, h, n, v)
		case bool:
			b := int64(0)
			if v {
				b = 1
			}
			rc = sqlite3.Xsqlite3_bind_int64(tls, h, n, b)
		case string:
			if v == "" {
				rc = sqlite3.Xsqlite3_bind_text(tls, h, n, s.c.out, 0, 0)
				break
			}
			rc = sqlite3.Xsqlite3_bind_text(tls, h, n, place(unsafe.Slice(unsafe.StringData(v), len(v))), int32(len(v)), 0)
		case []byte:
			rc = s.bindBytes(n, v, place)
		case json.RawMessage: // text, where a []byte is a blob
			if len(v) == 0 {
				rc = sqlite3.Xsqlite3_bind_null(tls, h, n)
				break
			}
			rc = sqlite3.Xsqlite3_bind_text(tls, h, n, place(v), int32(len(v)), 0)
		case id:
			rc = s.bindID(n, v, place)
		case nil:
			rc = sqlite3.Xsqlite3_bind_null(tls, h, n)
		default:
			return fmt.Errorf("sqlite: can't bind a %T", a)
		}
		if rc != sqlite3.SQLITE_OK {
			return s.c.fail(rc, s.sql)
		}
	}
	return nil
}

func (s *stmt) bindBytes(n int32, b []byte, place func([]byte) uintptr) int32 {
	switch {
	case b == nil:
		return sqlite3.Xsqlite3_bind_null(s.c.tls, s.handle, n)
	case len(b) == 0:
		return sqlite3.Xsqlite3_bind_zeroblob(s.c.tls, s.handle, n, 0)
	}
	return sqlite3.Xsqlite3_bind_blob(s.c.tls, s.handle, n, place(b), int32(len(b)), 0)
}

func (s *stmt) bindID(n int32, v id, place func([]byte) uintptr) int32 {
	b := v.bytes()
	if v.isUUID() {
		return sqlite3.Xsqlite3_bind_blob(s.c.tls, s.handle, n, place(b), int32(len(b)), 0)
	}
	if len(b) == 0 {
		return sqlite3.Xsqlite3_bind_text(s.c.tls, s.handle, n, s.c.out, 0, 0)
	}
	return sqlite3.Xsqlite3_bind_text(s.c.tls, s.handle, n, place(b), int32(len(b)), 0)
}

// start prepares sql, binds args and takes the first step.
func (c *conn) start(sql string, args []any) (*stmt, int32, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return nil, 0, err
	}
	if s.busy {
		return nil, 0, fmt.Errorf("sqlite: statement still in use: %q", sql)
	}
	if err := s.bind(args); err != nil {
		return nil, 0, err
	}
	if s.writes {
		c.wrote = true
	}
	rc := sqlite3.Xsqlite3_step(c.tls, s.handle)
	if rc != sqlite3.SQLITE_ROW && rc != sqlite3.SQLITE_DONE {
		err := c.fail(rc, sql)
		s.reset()
		return nil, rc, err
	}
	return s, rc, nil
}

func (s *stmt) reset() {
	s.busy = false
	sqlite3.Xsqlite3_reset(s.c.tls, s.handle)
	if s.size > keepBuffer {
		sqlite3.Xsqlite3_clear_bindings(s.c.tls, s.handle)
		libc.Xfree(s.c.tls, s.buf)
		s.buf, s.size = 0, 0
	}
}

// exec runs a statement and returns how many rows it changed.
func (c *conn) exec(sql string, args ...any) (int, error) {
	s, _, err := c.start(sql, args)
	if err != nil {
		return 0, err
	}
	n := int(sqlite3.Xsqlite3_changes(c.tls, c.db))
	s.reset()
	return n, nil
}

// rows iterates over the result of a query; see query.
type rows struct {
	s     *stmt
	first bool
	done  bool
	err   error
}

// query runs a query. Use it as
//
//	r := c.query(sql, args…)
//	for r.next() { … }
//	return r.close()
//
// or call close early.
func (c *conn) query(sql string, args ...any) *rows {
	s, rc, err := c.start(sql, args)
	if err != nil {
		return &rows{err: err, done: true}
	}
	s.busy = true
	return &rows{s: s, first: true, done: rc == sqlite3.SQLITE_DONE}
}

func (r *rows) next() bool {
	if r.done {
		return false
	}
	if r.first {
		r.first = false
		return true
	}
	switch rc := sqlite3.Xsqlite3_step(r.s.c.tls, r.s.handle); rc {
	case sqlite3.SQLITE_ROW:
		return true
	case sqlite3.SQLITE_DONE:
	default:
		r.err = r.s.c.fail(rc, r.s.sql)
	}
	r.done = true
	return false
}

func (r *rows) close() error {
	r.done = true
	if r.s != nil {
		r.s.reset()
		r.s = nil
	}
	return r.err
}

func (r *rows) int(i int) int64 {
	return sqlite3.Xsqlite3_column_int64(r.s.c.tls, r.s.handle, int32(i))
}

func (r *rows) bool(i int) bool { return r.int(i) != 0 }

// view is column i as it lies in the library's memory: valid until the next step.
func (r *rows) view(i int) []byte {
	tls, h := r.s.c.tls, r.s.handle
	p := sqlite3.Xsqlite3_column_blob(tls, h, int32(i))
	if p == 0 {
		return nil
	}
	return memory(p, int(sqlite3.Xsqlite3_column_bytes(tls, h, int32(i))))
}

func (r *rows) text(i int) string { return string(r.view(i)) }

// blob is a copy of column i; nil for NULL.
func (r *rows) blob(i int) []byte {
	b := r.view(i)
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

func (r *rows) id(i int) string {
	isBlob := sqlite3.Xsqlite3_column_type(r.s.c.tls, r.s.handle, int32(i)) == sqlite3.SQLITE_BLOB
	return idText(r.view(i), isBlob)
}

// one runs a query and calls read with its first row; ok tells whether there was one.
func (c *conn) one(read func(*rows), sql string, args ...any) (ok bool, err error) {
	r := c.query(sql, args...)
	if ok = r.next(); ok {
		read(r)
	}
	return ok, r.close()
}

func (c *conn) inTransaction() bool { return sqlite3.Xsqlite3_get_autocommit(c.tls, c.db) == 0 }

// lastRowID is the key of the row inserted last.
func (c *conn) lastRowID() int64 {
	return sqlite3.Xsqlite3_last_insert_rowid(c.tls, c.db)
}
