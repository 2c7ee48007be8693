package replicatest

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// BenchmarkReplicas: runs that wait for a model, as most do, on replicas that carry out so many
// at once. What three of them do is three times as much, as long as the machine, which
// they share with Redis and the callers, has time left.
//
//	go test -run "^$" -bench Replicas -benchtime 5s ./server/replicatest
func BenchmarkReplicas(b *testing.B) {
	const workers, wait = 8, 0.2 // 40 runs/s each
	for _, n := range []int{1, 2, 3} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := replicas(b, n, func(_ int, o *server.Options) { o.Workers = workers })
			body := fmt.Sprintf(`{"assistant_id":"slow","input":{"wait":%g}}`, wait)
			work := make(chan int)
			var callers sync.WaitGroup
			one := func(i int) {
				at := r[i%n]
				id := at.thread()
				status, _ := at.do(http.MethodPost, "/threads/"+id+"/runs/wait", body)
				require.Equal(b, http.StatusOK, status)
			}
			for range 2 * workers * n {
				callers.Go(func() {
					for i := range work {
						one(i)
					}
				})
			}
			begin := time.Now()
			runs := 0
			for b.Loop() {
				work <- runs
				runs++
			}
			close(work)
			callers.Wait()
			b.ReportMetric(float64(runs)/time.Since(begin).Seconds(), "runs/s")
			b.ReportMetric(float64(runs)/time.Since(begin).Seconds()/float64(n)/(workers/wait), "of-ideal")
		})
	}
}
