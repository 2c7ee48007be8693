package redis

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/parley-dev/parley/thread"
)

// errReply: a script answered something that this program doesn't understand.
var errReply = errors.New("redis: unexpected reply")

// reply reads a script's answer from left to right; the first error stays.
type reply struct {
	script string
	list   []any
	next   int
	err    error
	// unconfirmed says that what the script stored isn't as durable yet as it has to be.
	unconfirmed error
}

func newReply(script string, value any) reply {
	switch v := value.(type) {
	case []any:
		return reply{script: script, list: v}
	case nil:
		return reply{script: script, list: []any{}}
	}
	return reply{script: script, list: []any{value}}
}

func (r *reply) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s, field %d", errReply, r.script, r.next)
	}
}

func (r *reply) value() any {
	if r.err != nil || r.next >= len(r.list) {
		r.fail()
		return nil
	}
	r.next++
	return r.list[r.next-1]
}

// more tells whether there is another field.
func (r *reply) more() bool { return r.err == nil && r.next < len(r.list) }

func (r *reply) text() string {
	switch v := r.value().(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case nil:
		return ""
	}
	r.fail()
	return ""
}

// blob is the field's bytes; nil when it is empty.
func (r *reply) blob() []byte {
	if s := r.text(); s != "" {
		return []byte(s)
	}
	return nil
}

func (r *reply) int() int64 {
	switch v := r.value().(type) {
	case int64:
		return v
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err == nil {
			return n
		}
	}
	r.fail()
	return 0
}

func (r *reply) bool() bool { return r.int() != 0 }

// inner is a field that is a list itself.
func (r *reply) inner() reply {
	switch v := r.value().(type) {
	case []any:
		return reply{script: r.script, list: v, err: r.err}
	case nil:
		return reply{script: r.script, list: []any{}, err: r.err}
	}
	r.fail()
	return reply{script: r.script, err: r.err}
}

// status takes the first field, which says how the transition ended; those that
// are errors for every caller become one.
func (r *reply) status() string {
	status := r.text()
	if r.err != nil {
		return ""
	}
	switch status {
	case "FENCED":
		r.err = thread.ErrFenced
	case "BUSY":
		r.err = thread.ErrBusy
	case "EXISTS":
		r.err = thread.ErrExists
	case "CONFLICT":
		r.err = fmt.Errorf("%s: %w", r.text(), thread.ErrConflict)
	}
	return status
}

// texts are the fields that are left.
func (r *reply) texts() []string {
	list := make([]string, 0, len(r.list)-r.next)
	for r.more() {
		list = append(list, r.text())
	}
	return list
}
