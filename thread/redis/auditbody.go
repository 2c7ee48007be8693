package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/parley-dev/parley/thread"
)

// entry is the canonical body of an audit entry with its hash: scripts hash no more than the link.
type entry struct {
	body json.RawMessage
	sum  string
}

func newEntry(ctx context.Context, b thread.AuditBody) (entry, error) {
	body, err := b.By(thread.ActorFrom(ctx)).Canonical()
	sum := sha256.Sum256(body)
	return entry{body: body, sum: hex.EncodeToString(sum[:])}, err
}

func (e entry) args() []any { return []any{[]byte(e.body), e.sum} }

// emptyBody is how the canonical form of every body begins that names neither action nor actor.
const emptyBody = `{"action":"","actor":{}`

// piece is what a body adds to the canonical form of an empty one. Scripts make the
// bodies of small entries out of such pieces.
func piece(b thread.AuditBody) (string, error) {
	body, err := b.Canonical()
	return strings.TrimSuffix(strings.TrimPrefix(string(body), emptyBody), "}"), err
}

// actorArg is who acts, as the canonical form of a body has it.
func actorArg(ctx context.Context) (string, error) {
	a := thread.ActorFrom(ctx)
	if len(a.Roles) == 0 && a.Principal+a.Kind+a.Address+a.RequestID+a.Via == "" { // a worker
		return "{}", nil
	}
	body, err := thread.AuditBody{Actor: a}.Canonical()
	return strings.TrimSuffix(strings.TrimPrefix(string(body), `{"action":"","actor":`), "}"), err
}

// orDefault is the project's name.
func orDefault(project string) string {
	if project == "" {
		return thread.DefaultProject
	}
	return project
}
