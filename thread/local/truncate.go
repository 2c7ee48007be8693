package local

import (
	"context"

	"github.com/parley-dev/parley/thread"
)

// Truncate implements thread.Truncater.
func (s *Store) Truncate(ctx context.Context, what thread.Truncate) error {
	var sql []string
	if what.Threads {
		sql = append(sql, `DELETE FROM threads`, `DELETE FROM thread_meta`, `DELETE FROM heads`, `DELETE FROM idempotency`, `DELETE FROM outbox`,
			`UPDATE audit SET chain=NULL WHERE chain IS NOT NULL`)
	}
	if what.Threads || what.Checkpoints {
		sql = append(sql, `DELETE FROM checkpoints`, `DELETE FROM tasks`, `DELETE FROM interrupts`, `DELETE FROM reviews`,
			`DELETE FROM review_ids`, `DELETE FROM steps`,
			`DELETE FROM blobs`, `DELETE FROM segment_entries`, `DELETE FROM segments`)
	}
	if what.Threads || what.Runs {
		sql = append(sql, `DELETE FROM runs`, `DELETE FROM log`)
	}
	if !what.Threads && what.Checkpoints {
		sql = append(sql, `UPDATE heads SET head='', open=0, state_updated=0, ended=0`)
	}
	if !what.Threads && what.Runs {
		sql = append(sql, `DELETE FROM idempotency`,
			`UPDATE heads SET running=0, token=token+1, due=NULL, queue=NULL, status=rest, cancel='', cancelled_by=NULL, suspended=0`)
	}
	if what.Assistants {
		sql = append(sql, `DELETE FROM assistant_versions WHERE assistant IN
			(SELECT a.id FROM assistants a JOIN assistant_versions v ON v.assistant=a.id AND v.version=a.version
				WHERE json_extract(v.doc, '$.metadata.created_by') IS NOT 'system')`,
			`DELETE FROM assistants WHERE id NOT IN (SELECT assistant FROM assistant_versions)`)
	}
	if what.Items {
		sql = append(sql, `DELETE FROM items`)
	}
	return s.write(ctx, true, func(t *tx) error {
		for _, q := range sql {
			if _, err := t.exec(q); err != nil {
				return err
			}
		}
		t.onCommit(s.counts.forget)
		return nil
	})
}
