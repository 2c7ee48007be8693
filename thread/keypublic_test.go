package thread_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// TestAKeyThatIsBeingMadeHasNoYearOne: what the audit log keeps of it says nothing of a time that isn't set yet.
func TestAKeyThatIsBeingMadeHasNoYearOne(t *testing.T) {
	t.Parallel()
	k := thread.Key{ID: "k", Project: "p", Name: "ann", Hash: "h", Roles: []string{"owner"}}
	require.JSONEq(t, `{"id": "k", "project": "p", "name": "ann", "roles": ["owner"]}`, string(k.Public()))
	k.CreatedAt = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	require.JSONEq(t, `{"id": "k", "project": "p", "name": "ann", "roles": ["owner"], "created_at": "2026-11-30T12:00:00Z"}`, string(k.Public()))
}
