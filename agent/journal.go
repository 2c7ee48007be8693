package agent

import (
	"errors"
	"fmt"
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
	// pass is the attempt of a task that the record is from.
	pass *taskContext
}

// journal holds the steps of an origin over the attempts of its tasks.
type journal struct {
	mu     sync.Mutex
	loaded bool
	steps  map[stepKey]journaled
	// busy are the steps under way, where several tasks share the journal.
	busy map[stepKey]chan struct{}
}

// load reads what earlier runs have journaled under the scope's origin.
func (j *journal) load(s *stepScope) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.loaded {
		return nil
	}
	c := s.task
	j.steps = map[stepKey]journaled{}
	if s.mayBeStored() {
		records, err := c.exec.Reader.Steps(c, s.origin)
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
func (j *journal) failures(pass *taskContext) []StepRecord {
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
