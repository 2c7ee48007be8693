package stream_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/stream"
)

// recording is a response that keeps what was written.
type recording struct {
	discard
	body bytes.Buffer
}

func (r *recording) Write(b []byte) (int, error) { return r.body.Write(b) }

// D-09: the end of a run may be announced while readers are about to take its
// last events; not one of them may end without these.
func TestNoReaderEndsBeforeTheLastEvent(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run0", "values", "custom"))
	for i := range 150 {
		if i > 0 {
			w = w.nextRun(fmt.Sprint("run", i), "values", "custom")
		}
		const readers = 24
		responses := make([]*recording, readers)
		var served sync.WaitGroup
		for j := range readers {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			require.NoError(t, err)
			responses[j] = &recording{discard: discard{http.Header{}}}
			served.Go(func() {
				if err := stream.ServeRun(responses[j], r, hub, w.run, stream.Options{}); err != nil {
					panic(err)
				}
			})
		}
		w.start()
		for range i % 5 {
			w.custom("1")
		}
		w.values(10)
		w.finish()
		served.Wait()
		want := strings.Join(m.reference(t, w.run), "")
		for _, r := range responses {
			require.Equal(t, want, strings.ReplaceAll(r.body.String(), ": heartbeat\n", ""))
		}
	}
}
