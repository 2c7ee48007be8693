package local

import (
	"errors"

	"github.com/parley-dev/parley/thread"
)

// The kinds of what isn't found, as thread.NotFoundError names them.
const (
	notFoundAssistant  = "assistant"
	notFoundCheckpoint = "checkpoint"
	notFoundCron       = "cron"
	notFoundDelivery   = "delivery"
	notFoundItem       = "item"
	notFoundKey        = "key"
	notFoundReview     = "review"
	notFoundRun        = "run"
	notFoundSegment    = "segment"
	notFoundThread     = "thread"
	notFoundVersion    = "version"
)

func isNotFound(err error) bool { return errors.Is(err, thread.ErrNotFound) }
