package redis_test

import (
	"testing"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) thread.Store { return openStore(t) })
}
