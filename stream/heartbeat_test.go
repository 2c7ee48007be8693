package stream

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A wheel turns while it has streams, gives each its beat, and stops with the last.
func TestWheelTurnsWhileItIsUsed(t *testing.T) {
	t.Parallel()
	w := &wheel{interval: 20 * time.Millisecond}
	for range 3 {
		slot := w.join()
		other := w.join()
		for range 2 {
			select {
			case <-w.beat(slot):
			case <-time.After(10 * time.Second):
				t.Fatal("no beat")
			}
		}
		w.leave()
		<-w.beat(other)
		w.leave()
		select {
		case <-w.stopped:
		default:
			t.Fatal("turns on without streams")
		}
	}
	require.Zero(t, w.users)
}

func TestWheelsAreSharedByInterval(t *testing.T) {
	t.Parallel()
	h := NewHub(HubOptions{})
	require.Same(t, h.wheelOf(time.Second), h.wheelOf(time.Second))
	require.NotSame(t, h.wheelOf(time.Second), h.wheelOf(time.Minute))
}
