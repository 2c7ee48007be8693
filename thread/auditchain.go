package thread

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Canonical is the body as it is hashed and kept: JSON with sorted keys, no white
// space, numbers as they were written. Parts that aren't JSON are an error.
func (b AuditBody) Canonical() (json.RawMessage, error) {
	raw, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("audit entry: %w", err)
	}
	return canonical(raw), nil
}

// About fills what the body leaves empty of what it is about, from the review.
func (b AuditBody) About(r Review) AuditBody {
	fill := func(at *string, v string) {
		if *at == "" {
			*at = v
		}
	}
	fill(&b.ReviewID, r.ID)
	fill(&b.InterruptID, r.InterruptID)
	fill(&b.RunID, r.RunID)
	fill(&b.ExecutionID, r.ExecutionID)
	fill(&b.Agent, r.Agent)
	fill(&b.Tool, r.Tool)
	fill(&b.Digest, r.Digest)
	if b.Tools == nil && len(r.Tools) > 1 {
		b.Tools = r.Tools
	}
	if b.Generation == 0 {
		b.Generation = r.Generation
	}
	return b
}

// By fills the actor of a body that has none.
func (b AuditBody) By(a Actor) AuditBody {
	if b.Actor.isZero() {
		b.Actor = a
	}
	return b
}

func (a Actor) isZero() bool {
	return a.Principal == "" && a.Kind == "" && len(a.Roles) == 0 && a.Address == "" && a.RequestID == "" && a.Via == ""
}

// AuditHash is the hash of a thread's entry, and, with prev "" and threadSeq 0, of
// one without a thread; see AuditEntry.
func AuditHash(prev string, threadSeq int64, at time.Time, body []byte) string {
	sum := sha256.Sum256(body)
	return chained(prev, strconv.FormatInt(threadSeq, 10), strconv.FormatInt(at.UnixMicro(), 10), hex.EncodeToString(sum[:]))
}

// AuditSeal is the seal of the project's entry number seq; prev is the seal of the one before.
func AuditSeal(prev string, seq int64, threadID, hash string) string {
	return chained(prev, strconv.FormatInt(seq, 10), threadID, hash)
}

func chained(parts ...string) string {
	h := sha256.New()
	for i, p := range parts {
		if i > 0 {
			_, _ = h.Write([]byte{'\n'}) // a hash takes everything
		}
		_, _ = h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}
