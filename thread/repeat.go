package thread

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sort"

	"github.com/parley-dev/parley/agent"
)

// KeyFinder is implemented by stores that find a run by the key of its
// admission, so that a keyed repeat gets its first result although the thread
// has moved on.
type KeyFinder interface {
	// RunByKey returns ErrNotFound when the key names no run of the thread, or no longer,
	// and ErrUnconfirmed where the run isn't as durable yet as was asked for.
	RunByKey(ctx context.Context, threadID, key string) (Run, error)
}

// key scopes the caller's Idempotency-Key to principal and thread.
func (d *draft) key() string {
	if d.request.IdempotencyKey == "" {
		return ""
	}
	return digest(d.request.Principal, d.request.ThreadID, d.request.IdempotencyKey)
}

// ownScope tells apart principals of one name who don't see each other's threads: those of another
// project or workspace, or of another tenant of the deployment's own hooks. A stateless run has no thread
// that would.
func (r *StartRun) ownScope() string {
	project, workspace := r.scope(r.ThreadMetadata)
	return digest(project, workspace, string(canonical(encodeJSON(r.Filter))))
}

// keyed finds the first run that was admitted with the draft's key.
func (s *Service) keyed(ctx context.Context, d *draft) (Run, error) {
	finder, ok := s.store.(KeyFinder)
	if !ok {
		return Run{}, ErrNotFound
	}
	return finder.RunByKey(ctx, d.thread.ID, d.key())
}

// runFingerprint identifies equal requests for a run (decisions 9): "" unless
// all messages of the input bring ids of their own or the v2 command has an id.
func runFingerprint(r StartRun) string {
	if r.ThreadID == "" || r.IdempotencyKey != "" || r.AfterSeconds > 0 {
		return ""
	}
	command := ""
	if !mintedByClient(r.Input) {
		if r.CommandID == "" {
			return ""
		}
		command = r.CommandID
	}
	return digest(r.Principal, r.AssistantID, r.CheckpointID, r.MultitaskStrategy, command,
		string(canonical(r.Input)), string(canonical(r.Command)), string(canonical(r.Config)), string(canonical(r.Context)),
		string(canonical(encodeJSON(r.Metadata))), string(canonical(r.InterruptBefore)), string(canonical(r.InterruptAfter)), r.Webhook)
}

// mintedByClient reports whether input has messages and each of them an id.
func mintedByClient(input json.RawMessage) bool {
	top, ok := decode(input).(map[string]any)
	if !ok {
		return false
	}
	seen := false
	for _, v := range top {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, e := range list {
			m, ok := e.(map[string]any)
			if !ok {
				continue
			}
			_, typed := m["type"].(string)
			_, role := m["role"].(string)
			if !typed && !role {
				continue
			}
			if id, _ := m["id"].(string); id == "" {
				return false
			}
			seen = true
		}
	}
	return seen
}

// answersFingerprint identifies equal answers by one principal (decisions 8).
// Free-text notes of a reviewer aren't compared.
func answersFingerprint(principal string, answers []agent.Answer) string {
	parts := make([]string, 0, len(answers))
	for _, a := range answers {
		parts = append(parts, a.InterruptID+"\x00"+string(withoutNotes(a.Value)))
	}
	sort.Strings(parts)
	return digest(append([]string{principal}, parts...)...)
}

// notesKey is where a decision carries what the reviewer noted for other people.
const notesKey = "reviewer_notes"

// withoutNotes is the canonical form of an answer as repeats compare it.
func withoutNotes(answer json.RawMessage) []byte {
	v := decode(answer)
	if m, ok := v.(map[string]any); ok {
		delete(m, notesKey)
	}
	return encode(v)
}

// digest hashes parts so that no two lists of parts share a text.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(encodeJSON(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
