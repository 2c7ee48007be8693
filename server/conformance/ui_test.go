package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/bundle"
)

var update = flag.Bool("update", false, "write the bundles anew")

func TestBundlesAreUpToDate(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"agent", "agent-alias"} {
		files, err := bundle.Build(name, UI())
		require.NoError(t, err)
		require.Len(t, files, 1)
		if *update {
			path := filepath.Join("ui", "dist", name, "entrypoint.js")
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, files["entrypoint.js"], 0o600))
			continue
		}
		kept, err := built(name, server.UI{})
		require.NoError(t, err)
		require.Equal(t, string(files["entrypoint.js"]), string(kept[("entrypoint.js")]), "run go test ./server/conformance -update")
	}
}
