package redis

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-dev/parley/thread"
)

// A part of a thread is a review or a webhook that is tried no more: there may be many,
// of which a transition changes few, so that what is derived from each has a version of
// its own. The thread counts its changes of parts, and so does its entry in the shard: a
// writer that finds a change missing between the two reads all parts (scripts/lib/parts.lua).
type part struct {
	name    string // kind and id
	version int64
	due     int64
	ids     []string // under which it is found
	members []string // of the shard's index of parts; none for one that is gone
}

// The kinds of parts, and of their members.
const (
	partReview = 'r'
	partDead   = 'd'
)

// reviewStatuses are the statuses of reviews as stored, in the order of searches.
var reviewStatuses = map[string]thread.ReviewStatus{
	"p": thread.ReviewPending, "d": thread.ReviewDecided, "e": thread.ReviewExpired, "x": thread.ReviewSuperseded,
}

// reviewsBy is what the members of reviews of a stored status begin with: of a project,
// or of all ("").
func reviewsBy(status, project string) prefix {
	p := []byte{partReview, status[0], 'a'}
	if project != "" {
		p[2] = 'p'
		p = binary.BigEndian.AppendUint16(p, uint16(len(project)))
		p = append(p, project...)
	}
	return prefix(p)
}

// deadLetters is what the members of dead letters begin with.
func deadLetters() prefix { return prefix([]byte{partDead}) }

// partField names a part among all of a shard.
func partField(threadID, name string) string {
	return strconv.Itoa(len(threadID)) + ":" + threadID + name
}

// splitField undoes partField. Kind and id make up a name.
func splitField(field string) (threadID string, kind byte, id string) {
	n, rest, ok := strings.Cut(field, ":")
	size, err := strconv.Atoi(n)
	if !ok || err != nil || size < 0 || len(rest) <= size {
		return "", 0, ""
	}
	return rest[:size], rest[size], rest[size+1:]
}

// takePart reads a part as scripts tell it.
func takePart(threadID string, r *reply) part {
	in := r.inner()
	p := part{name: in.text(), version: in.int()}
	field := partField(threadID, p.name)
	switch {
	case strings.HasPrefix(p.name, string(rune(partReview))):
		status, created := in.text(), in.int()
		p.due = in.int()
		project := in.text()
		p.ids = slices.Clone(in.texts())
		if in.err == nil && reviewStatuses[status] == "" {
			in.fail()
		}
		if in.err == nil {
			p.members = []string{reviewsBy(status, "").member(created, field), reviewsBy(status, project).member(created, field)}
		}
	default:
		if at := in.int(); at != 0 {
			p.members = []string{deadLetters().member(at, field)}
			p.ids = []string{p.name[1:]}
		}
	}
	if r.err == nil {
		r.err = in.err
	}
	return p
}

// args are the arguments of a part.
func (p part) args(args []any) []any {
	args = append(args, p.name, p.version, p.due)
	for _, list := range [][]string{p.ids, p.members} {
		args = append(args, len(list))
		for _, v := range list {
			args = append(args, v)
		}
	}
	return args
}
