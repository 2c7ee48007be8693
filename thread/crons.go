package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/parley-dev/parley/agent"
)

const (
	// cronIdle is how often crons are looked at although none is due.
	cronIdle  = time.Minute
	cronBatch = 100
)

// crons creates runs on schedules.
type crons struct {
	s    *Service
	call chan struct{}
	// failed says why each cron's last firing here made no run. Only the loop uses it.
	failed map[string]string
}

// mostFailedCrons bounds of how many crons it is remembered that they fail.
const mostFailedCrons = 1000

func newCrons(s *Service) *crons {
	return &crons{s: s, call: make(chan struct{}, 1), failed: map[string]string{}}
}

// CreateCron validates and stores a cron. Errors: *InvalidInputError, *agent.InvalidCommandError (also for a command
// that would answer questions), *NotFoundError (assistant, thread).
func (s *Service) CreateCron(ctx context.Context, c Cron) (Cron, error) {
	a, err := s.Assistant(ctx, c.AssistantID)
	if err != nil {
		return Cron{}, err
	}
	if c.ThreadID != "" {
		if _, err := s.GetThread(ctx, c.ThreadID); err != nil {
			return Cron{}, err
		}
	}
	now := s.clock.Now()
	c.ID, c.AssistantID, c.CreatedAt = newID(), a.ID, now
	if c.OnRunCompleted == "" {
		c.OnRunCompleted = "delete"
	}
	c.Metadata = merged(c.Metadata)
	return s.putCron(ctx, c)
}

// GetCron returns a cron. Errors: *NotFoundError.
func (s *Service) GetCron(ctx context.Context, id string) (Cron, error) {
	c, err := s.store.GetCron(ctx, id)
	return c, notFound(err, "cron", id)
}

// PatchCron changes a cron and computes its next run. Errors: as CreateCron.
func (s *Service) PatchCron(ctx context.Context, id string, change func(*Cron)) (Cron, error) {
	c, err := s.GetCron(ctx, id)
	if err != nil {
		return Cron{}, err
	}
	change(&c)
	return s.putCron(ctx, c)
}

// DeleteCron removes a cron. Errors: *NotFoundError.
func (s *Service) DeleteCron(ctx context.Context, id string) error {
	return notFound(s.store.DeleteCron(ctx, id), "cron", id)
}

func (s *Service) putCron(ctx context.Context, c Cron) (Cron, error) {
	if c.OnRunCompleted != "delete" && c.OnRunCompleted != "keep" {
		return Cron{}, &InvalidInputError{Path: []string{"on_run_completed"}, Message: fmt.Sprintf("unknown value %q", c.OnRunCompleted)}
	}
	if !isNull(c.Payload) {
		r, err := cronRun(c)
		if err == nil {
			err = answersNothing(r.Command)
		}
		if err == nil {
			err = s.allowWebhook(r.Webhook)
		}
		if err != nil {
			return Cron{}, err
		}
	}
	now := s.clock.Now()
	next, err := nextFiring(c, now)
	if err != nil {
		return Cron{}, err
	}
	c.NextRun, c.UpdatedAt = next, now
	if err := s.store.PutCron(ctx, c); err != nil {
		return Cron{}, err
	}
	signal(s.crons.call)
	return c, nil
}

// answersNothing refuses the command of a cron that would answer questions: whatever waits when it fires, nobody has seen.
func answersNothing(command json.RawMessage) error {
	if isNull(command) {
		return nil
	}
	c, err := agent.ParseCommand(command)
	if err != nil || isNull(c.Resume) {
		return err
	}
	return &agent.InvalidCommandError{Problems: []string{"command.resume: a cron can't answer what is asked, since nobody has seen it when the cron was made"}}
}

// nextFiring is the first time after now at which a cron fires; zero when it never does again.
func nextFiring(c Cron, now time.Time) (time.Time, error) {
	spec := strings.TrimSpace(c.Schedule)
	if c.Timezone != "" && !strings.Contains(spec, "TZ=") {
		if _, err := time.LoadLocation(c.Timezone); err != nil {
			return time.Time{}, &InvalidInputError{Path: []string{"timezone"}, Message: "unknown timezone " + c.Timezone}
		}
		spec = "CRON_TZ=" + c.Timezone + " " + spec
	} else if !strings.Contains(spec, "TZ=") {
		spec = "CRON_TZ=UTC " + spec
	}
	if zone, _, fields := strings.Cut(spec, " "); !fields && strings.Contains(zone, "TZ=") {
		return time.Time{}, &InvalidInputError{Path: []string{"schedule"}, Message: "schedule: nothing behind the timezone"} // ParseStandard panics
	}
	schedule, err := cron.ParseStandard(spec)
	if err != nil {
		return time.Time{}, &InvalidInputError{Path: []string{"schedule"}, Message: "schedule: " + err.Error()}
	}
	next := schedule.Next(now)
	if !c.EndTime.IsZero() && next.After(c.EndTime) {
		return time.Time{}, nil
	}
	return next, nil
}

// loop fires what is due.
func (c *crons) loop(ctx context.Context) {
	for ctx.Err() == nil {
		c.s.sleepUnless(ctx, c.fireDue(ctx), c.call)
	}
}

// fireDue fires all that is due and returns when to look again.
func (c *crons) fireDue(ctx context.Context) time.Duration {
	enabled := true
	now := c.s.clock.Now()
	due, _, err := c.s.store.SearchCrons(ctx, CronQuery{Enabled: &enabled, DueBefore: now, Limit: cronBatch})
	if err != nil {
		c.s.complain(ctx, "look for crons", err)
		return cronIdle
	}
	for _, one := range due {
		c.fire(ctx, one, now)
	}
	if len(due) == cronBatch {
		return 0
	}
	coming, _, err := c.s.store.SearchCrons(ctx, CronQuery{Enabled: &enabled, DueBefore: now.Add(cronIdle), SortBy: "next_run_date", SortAsc: true, Limit: 1})
	if err != nil || len(coming) == 0 {
		return cronIdle
	}
	return min(max(coming[0].NextRun.Sub(now), time.Millisecond), cronIdle)
}

// fire claims one firing and creates its run: late firings of one cron are one.
func (c *crons) fire(ctx context.Context, one Cron, now time.Time) {
	next, err := nextFiring(one, now)
	if err != nil {
		c.s.complain(ctx, "cron "+one.ID, err)
		return
	}
	mine, err := c.s.store.FireCron(ctx, one.ID, one.NextRun, next)
	if err != nil || !mine {
		if err != nil && !errors.Is(err, ErrNotFound) {
			c.s.complain(ctx, "claim a firing of cron "+one.ID, err)
		}
		return
	}
	start, err := cronRun(one)
	if err == nil {
		// A firing is nobody's decision: whatever its run says, it answers no review (D-102).
		_, err = c.s.StartRun(WithActor(ctx, Actor{Principal: one.UserID, Kind: "agent", Via: "cron"}), start)
	}
	c.told(ctx, one.ID, err)
}

// told logs that a firing made no run, once for each cause; nil ends that.
func (c *crons) told(ctx context.Context, id string, err error) {
	before := c.failed[id]
	delete(c.failed, id)
	if err == nil || ctx.Err() != nil {
		return
	}
	if len(c.failed) >= mostFailedCrons {
		clear(c.failed) // some were removed since; the others are told of once more
	}
	if c.failed[id] = err.Error(); c.failed[id] != before {
		c.s.complain(ctx, "create the run of cron "+id+"; it fires on, and this isn't logged again until the cause changes", err)
	}
}

// cronPayload is the run body that a cron was created with.
type cronPayload struct {
	Input             json.RawMessage `json:"input"`
	Command           json.RawMessage `json:"command"`
	Metadata          Metadata        `json:"metadata"`
	Config            json.RawMessage `json:"config"`
	Context           json.RawMessage `json:"context"`
	Webhook           string          `json:"webhook"`
	InterruptBefore   json.RawMessage `json:"interrupt_before"`
	InterruptAfter    json.RawMessage `json:"interrupt_after"`
	MultitaskStrategy string          `json:"multitask_strategy"`
	StreamMode        json.RawMessage `json:"stream_mode"`
	StreamSubgraphs   bool            `json:"stream_subgraphs"`
	StreamResumable   bool            `json:"stream_resumable"`
	CheckpointID      string          `json:"checkpoint_id"`
	Durability        string          `json:"durability"`
}

// cronRun is the run that a firing creates.
func cronRun(c Cron) (StartRun, error) {
	var p cronPayload
	if !isNull(c.Payload) {
		if err := json.Unmarshal(c.Payload, &p); err != nil {
			return StartRun{}, &InvalidInputError{Path: []string{"payload"}, Message: "payload: " + err.Error()}
		}
	}
	var modes []string
	var mode string
	if json.Unmarshal(p.StreamMode, &mode) == nil && mode != "" {
		modes = []string{mode}
	} else if !isNull(p.StreamMode) && json.Unmarshal(p.StreamMode, &modes) != nil {
		return StartRun{}, &InvalidInputError{Path: []string{"stream_mode"}, Message: "stream_mode must be a string or a list of strings"}
	}
	strategy := p.MultitaskStrategy
	if strategy == "" && c.ThreadID != "" {
		strategy = "enqueue" // a firing isn't lost because the one before it still runs
	}
	return StartRun{
		ThreadID: c.ThreadID, AssistantID: c.AssistantID, Input: p.Input, HasInput: p.Input != nil, Command: p.Command,
		ThreadMetadata: scopeMarks(c.Metadata),
		Metadata:       merged(p.Metadata, c.Metadata, Metadata{"cron_id": quoted(c.ID)}), Config: p.Config, Context: p.Context,
		StreamMode: modes, StreamSubgraphs: p.StreamSubgraphs, StreamResumable: p.StreamResumable,
		CheckpointID: p.CheckpointID, InterruptBefore: p.InterruptBefore, InterruptAfter: p.InterruptAfter,
		MultitaskStrategy: strategy, OnCompletion: c.OnRunCompleted, Webhook: p.Webhook, Durability: p.Durability,
		Principal: c.UserID, IdempotencyKey: "cron/" + c.ID + "/" + stamp(c.NextRun),
	}, nil
}
