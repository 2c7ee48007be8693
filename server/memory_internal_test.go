package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemoryKeeper(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	type second struct {
		grown   uint64 // MiB allocated in it
		live    uint64 // MiB
		percent int
		collect bool
	}
	for name, seconds := range map[string][]second{
		"an idle server is left alone": {{1, 0, 800, false}, {0, 1, 800, false}},
		"a small heap may grow by the headroom, a large one doubles": {
			{100, 4, 800, false}, {100, 8, 400, false}, {100, 20, 150, false}, {100, 1000, 100, false},
		},
		"silence after work is used to collect, thrice": {
			{100, 10, 300, false}, {0, 10, 300, true}, {0, 5, 600, true}, {0, 5, 600, true}, {0, 5, 600, false},
		},
		"work ends the silence": {{100, 4, 800, false}, {0, 4, 800, true}, {50, 4, 800, false}, {50, 4, 800, false}, {0, 4, 800, true}},
		"what is not worth a large heap's collection waits": {
			{20, 100, 100, false}, {0, 100, 100, false}, {20, 100, 100, false}, {0, 100, 100, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var k memoryKeeper
			total := uint64(0)
			for i, s := range seconds {
				total += s.grown * mib
				percent, collect := k.look(total, s.live*mib)
				require.Equal(t, s.percent, percent, "second %d", i)
				require.Equal(t, s.collect, collect, "second %d", i)
			}
		})
	}
}
