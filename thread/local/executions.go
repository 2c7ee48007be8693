package local

import (
	"context"

	"github.com/parley-dev/parley/thread"
)

const (
	selectExecutions = `SELECT ` + runColumns + `, t.id FROM runs r INDEXED BY runs_executions JOIN heads h ON h.k = r.k>>24 JOIN threads t ON t.k = r.k>>24
		WHERE r.execution=r.id AND r.project=?1 AND r.created<=?2 AND (r.created, r.k)<(?2, ?3) ORDER BY r.created DESC, r.k DESC LIMIT ?4`
	runColumnCount    = 24
	defaultExecutions = 50
)

// projectOf is a project as rows of runs have it.
func projectOf(project string) string {
	if project == thread.DefaultProject {
		return ""
	}
	return project
}

// ListExecutions implements thread.Executions.
func (s *Store) ListExecutions(ctx context.Context, q thread.ExecutionQuery) (list []thread.Run, err error) {
	if q.Limit <= 0 {
		q.Limit = defaultExecutions
	}
	err = s.readAll(ctx, func(c *conn) error {
		created, k := beyond, beyond
		if q.Before != "" {
			w, err := oneRun(c, "", q.Before)
			if err != nil {
				return err
			}
			created, k = w.created, w.k
		}
		r := c.query(selectExecutions, projectOf(q.Project), created, k, q.Limit)
		for r.next() {
			w := readRun(r)
			w.thread = r.id(runColumnCount)
			run, err := w.run()
			if err != nil {
				return errorsFirst(err, r.close())
			}
			list = append(list, run)
		}
		return r.close()
	})
	return list, err
}
