package chaostest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// checkLists: searches find what the threads are.
func (w *world) checkLists(ctx context.Context) {
	want := map[string]string{}
	for _, s := range w.sessions {
		t, err := w.store.GetThread(ctx, s.thread)
		if err != nil {
			w.violated("thread %s: %v", s.thread, err)
			continue
		}
		want[s.thread] = string(t.Status)
		if t.Status != "idle" && t.Status != "interrupted" && t.Status != "error" {
			w.violated("thread %s is %s although nothing runs", s.thread, t.Status)
		}
	}
	for i := range w.replicas {
		last := ""
		if !eventually(patience/3, func() bool { last = w.compareLists(ctx, i, want); return last == "" }) {
			w.violated("replica %d: %s", i, last)
		}
	}
}

// compareLists says how searches differ from the threads; derived entries may be late for a moment.
func (w *world) compareLists(ctx context.Context, replica int, want map[string]string) string {
	for _, status := range []string{"idle", "interrupted", "error", "busy"} {
		c, _ := w.insist(ctx, request{who: "lists", method: http.MethodPost, path: "/threads/search", body: encode(map[string]any{"status": status, "limit": 100})}, replica)
		var found []struct {
			ThreadID string `json:"thread_id"`
			Status   string `json:"status"`
		}
		if err := json.Unmarshal([]byte(c.Reply), &found); err != nil {
			return fmt.Sprintf("search: %d %s", c.Status, c.Reply)
		}
		for _, f := range found {
			if want[f.ThreadID] != status || f.Status != status {
				return fmt.Sprintf("a search for %s finds %s, which is %s", status, f.ThreadID, want[f.ThreadID])
			}
		}
		for id, is := range want {
			if is == status && !slices.ContainsFunc(found, func(f struct {
				ThreadID string `json:"thread_id"`
				Status   string `json:"status"`
			}) bool {
				return f.ThreadID == id
			}) {
				return fmt.Sprintf("a search for %s doesn't find %s", status, id)
			}
		}
	}
	return ""
}

// checkDeletion: with the threads all that is of them goes.
func (w *world) checkDeletion(ctx context.Context) {
	var all sync.WaitGroup
	for i, s := range w.sessions {
		all.Go(func() {
			c, _ := w.insist(ctx, request{who: "delete", method: http.MethodDelete, path: "/threads/" + s.thread}, i)
			if c.Status >= 300 && c.Status != http.StatusNotFound {
				w.violated("delete thread %s: %d %s", s.thread, c.Status, c.Reply)
			}
		})
	}
	all.Wait()
	var left []string
	begin := time.Now()
	if !eventually(patience, func() bool { // what a killed replica was about to derive is repaired after ten seconds
		if time.Since(begin) > time.Second {
			w.idle()
		}
		keys, err := w.storeKeys()
		left = nil
		for k := range keys {
			if !w.baseline[k] && !strings.Contains(k, "{projects}:") { // the audit log outlives threads
				left = append(left, k)
			}
		}
		return err == nil && len(left) == 0
	}) {
		w.violated("keys are left although all threads are deleted: %v", left)
	}
}
