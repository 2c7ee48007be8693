package local

import (
	"context"

	"github.com/parley-dev/parley/agent"
)

func encodeStep(s agent.StepRecord) []byte {
	e := enc{recordVersion}
	e.text(string(s.Status))
	e.int(int64(s.Attempt))
	e.blob(s.Result)
	e.error(s.Error)
	return e
}

func decodeStep(b []byte, s *agent.StepRecord) error {
	if len(b) == 0 || b[0] != recordVersion {
		return errCorrupt
	}
	d := dec{b: b[1:]}
	s.Status, s.Attempt, s.Result, s.Error = agent.StepStatus(d.text()), int(d.int()), d.blob(), d.errorInfo()
	return d.err
}

func putStep(c *conn, thread int64, s agent.StepRecord, doc []byte) error {
	_, err := c.exec(`INSERT OR REPLACE INTO steps(thread, origin, name, occurrence, doc) VALUES(?,?,?,?,?)`,
		thread, s.Origin, s.Name, s.Occurrence, doc)
	return err
}

// Steps implements thread.Journal.
func (s *Store) Steps(ctx context.Context, threadID, origin string) (list []agent.StepRecord, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err != nil {
			return err
		}
		r := c.query(`SELECT name, occurrence, doc FROM steps WHERE thread=? AND origin=?`, k, origin)
		for r.next() {
			step := agent.StepRecord{Origin: origin, Name: r.text(0), Occurrence: int(r.int(1))}
			if err := decodeStep(r.view(2), &step); err != nil {
				return errorsFirst(err, r.close())
			}
			list = append(list, step)
		}
		return r.close()
	})
	return list, err
}
