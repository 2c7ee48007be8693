package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// stepKey names a step within its task.
type stepKey struct {
	name       string
	occurrence int
}

// journaled is a step record as the run knows it.
type journaled struct {
	StepRecord
	// recorded is set on a failure that the node has lived with: it is returned again.
	recorded bool
	// pass is the attempt of the task that the record is from.
	pass int
}

// journal holds the steps of a task over its attempts.
type journal struct {
	mu     sync.Mutex
	loaded bool
	steps  map[stepKey]journaled
}

// load reads what earlier runs of the task have journaled.
func (j *journal) load(c *taskContext) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.loaded {
		return nil
	}
	j.steps = map[stepKey]journaled{}
	_, carried := c.loop.cp.Origins[c.planned.id]
	if c.run.mayHaveRun() || carried {
		records, err := c.exec.Reader.Steps(c, c.planned.origin)
		if err != nil {
			if c.Err() == nil {
				c.loop.r.fail(fmt.Errorf("agent: read journal: %w", err))
			}
			return err
		}
		for _, rec := range records {
			// A stored failure with its error is one that the node has lived with.
			j.steps[stepKey{rec.Name, rec.Occurrence}] = journaled{StepRecord: rec, recorded: rec.Status == StepFailed && rec.Error != nil}
		}
	}
	j.loaded = true
	return nil
}

func (j *journal) get(key stepKey) journaled {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.steps[key]
}

func (j *journal) put(key stepKey, rec journaled) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.steps[key] = rec
}

// failures returns the steps that failed in an attempt whose node went on and
// suspends: another pass must go the same way.
func (j *journal) failures(pass int) []StepRecord {
	j.mu.Lock()
	defer j.mu.Unlock()
	var failed []StepRecord
	for _, rec := range j.steps {
		if rec.Status == StepFailed && !rec.recorded && rec.pass == pass {
			failed = append(failed, rec.StepRecord)
		}
	}
	return failed
}

var errNotStored = errors.New("agent: the run has lost its store")

// journal stores a step record before the node goes on.
func (c *taskContext) journal(key stepKey, rec journaled) error {
	c.run.journal.put(key, rec)
	c.loop.r.commit(context.WithoutCancel(c), &Commit{Steps: []StepRecord{rec.StepRecord}})
	if c.loop.r.broken() != nil {
		return errNotStored
	}
	return nil
}

// idempotencyKey is the step's key for the outside world (decisions 6).
func (c *taskContext) idempotencyKey(key stepKey) string {
	var all []byte
	for _, part := range []string{c.exec.ThreadID, c.planned.origin, key.name, strconv.Itoa(key.occurrence)} {
		all = appendString(all, part)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:16])
}
