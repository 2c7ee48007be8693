package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemoryKeeper(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	type look struct {
		grown   uint64 // MiB allocated since the look before
		live    uint64 // MiB
		percent int
		collect bool
	}
	for name, looks := range map[string][]look{
		"an idle server is left alone": {{1, 0, 800, false}, {0, 1, 800, false}},
		"a small heap may grow by the headroom, a large one doubles": {
			{100, 4, 400, false}, {100, 8, 200, false}, {100, 10, 150, false}, {100, 1000, 100, false},
		},
		"silence after work is used to collect, twice": {
			{100, 5, 300, false}, {0, 5, 300, true}, {0, 2, 800, true}, {0, 2, 800, false},
		},
		"work ends the silence": {{100, 4, 400, false}, {0, 4, 400, true}, {50, 4, 400, false}, {50, 4, 400, false}, {0, 4, 400, true}},
		"what is not worth a large heap's collection waits": {
			{20, 100, 100, false}, {0, 100, 100, false}, {20, 100, 100, false}, {0, 100, 100, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var k memoryKeeper
			total := uint64(0)
			for i, l := range looks {
				total += l.grown * mib
				percent, collect := k.look(total, l.live*mib)
				require.Equal(t, l.percent, percent, "look %d", i)
				require.Equal(t, l.collect, collect, "look %d", i)
			}
		})
	}
}
