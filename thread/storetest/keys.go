package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

func (e *reviewEnv) newKey(id string) thread.Key {
	return thread.Key{ID: id, Project: e.project, Name: "<CI>", Hash: "00ff", Roles: []string{"viewer", "reviewer:g/send"}, Agent: true, Workspace: "w",
		CreatedAt: now(), CreatedBy: "ann", ExpiresAt: now().Add(time.Hour)}
}

var keyCases = []testCase{
	reviewCase("a key is kept, listed and audited without its hash", func(e *reviewEnv) {
		a, b := e.newKey("b-"+newID()), e.newKey("a-"+newID())
		b.CreatedAt = a.CreatedAt.Add(time.Second)
		other := e.newKey("c-" + newID())
		other.Project = e.project + "-2"
		other.CreatedAt = b.CreatedAt.Add(time.Second)
		for _, k := range []thread.Key{b, a, other} {
			require.NoError(e, e.CreateKey(e.as("ann"), k, thread.AuditBody{}))
		}
		got, err := e.GetKey(e.ctx, a.ID)
		require.NoError(e, err)
		require.Equal(e, a, got)
		list, err := e.ListKeys(e.ctx, e.project)
		require.NoError(e, err)
		require.Equal(e, []thread.Key{a, b}, list, "oldest first")
		list, err = e.ListKeys(e.ctx, "")
		require.NoError(e, err)
		require.Equal(e, []thread.Key{a, b, other}, list)
		all := e.sealed(e.project)
		bodies := e.bodies(all)
		require.Len(e, bodies, 2)
		require.Empty(e, all[0].ThreadID)
		require.Equal(e, thread.AuditKeyCreated, bodies[0].Action)
		require.Equal(e, e.actor("ann"), bodies[0].Actor)
		require.JSONEq(e, string(b.Public()), string(bodies[0].Detail))
		require.NotContains(e, string(all[0].Body), "00ff")
		require.Len(e, e.sealed(other.Project), 1)
	}),
	reviewCase("an id is taken once", func(e *reviewEnv) {
		k := e.newKey(newID())
		var made atomic.Int64
		together(10, func(i int) {
			k := k
			k.Name = fmt.Sprint(i)
			err := e.CreateKey(e.ctx, k, thread.AuditBody{Action: thread.AuditKeyCreated, Notes: "n"})
			if err == nil {
				made.Add(1)
				return
			}
			if !errors.Is(err, thread.ErrExists) {
				e.Error(err)
			}
		})
		require.EqualValues(e, 1, made.Load())
		require.Len(e, e.sealed(e.project), 1)
	}),
	reviewCase("a revoked key stays so, and is audited once", func(e *reviewEnv) {
		begin := time.Now()
		k := e.newKey(newID())
		require.NoError(e, e.CreateKey(e.as("ann"), k, thread.AuditBody{}))
		got, err := e.RevokeKey(e.as("bea"), k.ID, thread.AuditBody{})
		require.NoError(e, err)
		e.nearly(begin, got.RevokedAt)
		again, err := e.RevokeKey(e.as("carl"), k.ID, thread.AuditBody{})
		require.NoError(e, err)
		require.Equal(e, got, again)
		kept, err := e.GetKey(e.ctx, k.ID)
		require.NoError(e, err)
		require.Equal(e, got, kept)
		k.RevokedAt = got.RevokedAt
		require.Equal(e, k, got)
		bodies := e.bodies(e.sealed(e.project))
		require.Len(e, bodies, 2)
		require.Equal(e, thread.AuditKeyRevoked, bodies[1].Action)
		require.Equal(e, "bea", bodies[1].Actor.Principal)
		k.RevokedAt = time.Time{}
		require.JSONEq(e, string(k.Public()), string(bodies[1].Detail))
	}),
	reviewCase("a key needs nothing but its id", func(e *reviewEnv) {
		begin := time.Now()
		id := newID()
		require.NoError(e, e.CreateKey(e.ctx, thread.Key{ID: id, Hash: "ff"}, thread.AuditBody{}))
		k, err := e.GetKey(e.ctx, id)
		require.NoError(e, err)
		require.Equal(e, thread.DefaultProject, k.Project)
		e.nearly(begin, k.CreatedAt)
		require.Zero(e, k.ExpiresAt)
		require.Len(e, e.sealed(thread.DefaultProject), 1)
	}),
	reviewCase("an unknown key is not found", func(e *reviewEnv) {
		_, err := e.GetKey(e.ctx, newID())
		require.ErrorIs(e, err, thread.ErrNotFound)
		_, err = e.RevokeKey(e.ctx, newID(), thread.AuditBody{})
		require.ErrorIs(e, err, thread.ErrNotFound)
		list, err := e.ListKeys(e.ctx, e.project)
		require.NoError(e, err)
		require.Empty(e, list)
	}),
}
