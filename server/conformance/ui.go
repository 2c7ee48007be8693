package conformance

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/parley-dev/parley/server"
)

//go:embed ui/index.jsx
var sources embed.FS

// bundles are what server/bundle makes of the sources, built ahead so that the
// binary does not carry a JavaScript compiler; a test keeps them up to date.
//
//go:embed ui/dist
var bundles embed.FS

// UI returns the suites' user interface component (spec/conformance-agents.md
// 4.2) for one of the names agent and agent-alias.
func UI() server.UI {
	return server.UI{Files: must(fs.Sub(sources, "ui")), Entry: "index.jsx", Build: built}
}

// built reads a bundle.
func built(name string, _ server.UI) (map[string][]byte, error) {
	script, err := bundles.ReadFile("ui/dist/" + name + "/entrypoint.js")
	if err != nil {
		return nil, fmt.Errorf("bundle of %s: %w", name, err)
	}
	return map[string][]byte{"entrypoint.js": script}, nil
}

func must(files fs.FS, err error) fs.FS {
	if err != nil { // the folder is embedded
		panic(err)
	}
	return files
}
