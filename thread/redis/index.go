package redis

import (
	"encoding/binary"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
)

// The kinds of members of a shard's index. A member is its kind, what is searched
// for, a time and the thread's id, so that the threads that have something in
// common are a range, oldest first.
const (
	memberAll      = 'a' // each thread that can be found, by creation
	memberStatus   = 's' // by status, creation
	memberUpdated  = 'u' // by the last update
	memberMetadata = 'm' // by digest of metadata, creation
)

// timeSize is the length of a time in a member.
const timeSize = 8

// prefix is the beginning of members.
type prefix string

func allThreads() prefix { return prefix([]byte{memberAll}) }

func byUpdate() prefix { return prefix([]byte{memberUpdated}) }

func byStatus(code int) prefix { return prefix([]byte{memberStatus, byte(code)}) }

func byDigest(d uint64) prefix {
	return prefix(binary.BigEndian.AppendUint64([]byte{memberMetadata}, d))
}

// member is the member of a thread.
func (p prefix) member(at int64, id string) string {
	b := make([]byte, 0, len(p)+timeSize+len(id))
	b = append(b, p...)
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	return string(append(b, id...))
}

// split reads time and thread id off a member.
func (p prefix) split(member string) (at int64, id string) {
	rest := member[len(p):]
	if len(rest) < timeSize {
		return 0, ""
	}
	return int64(binary.BigEndian.Uint64([]byte(rest[:timeSize]))), rest[timeSize:]
}

// bounds are the range of the members with the prefix.
func (p prefix) bounds() (low, high string) {
	return "[" + string(p), "(" + p.next()
}

// next is the first text behind all that begin with p.
func (p prefix) next() string {
	b := []byte(p)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != 0xff {
			b[i]++
			return string(b[:i+1])
		}
	}
	return "\xff\xff"
}

// members lists what a shard's index has of a thread, besides its metadata.
func (w row) members() []string {
	if w.temporary {
		return nil
	}
	return []string{allThreads().member(w.created, w.id), byStatus(int(w.status)).member(w.created, w.id), byUpdate().member(w.updated, w.id)}
}

// metadataMembers lists what a shard's index has of a thread's metadata.
func (w row) metadataMembers(seed uint64, m thread.Metadata) []string {
	if w.temporary {
		return nil
	}
	list := make([]string, 0, len(m))
	for k, v := range m {
		if d, ok := query.Digest(seed, k, v); ok {
			list = append(list, byDigest(d).member(w.created, w.id))
		}
	}
	return list
}
