package conformance

import (
	"embed"
	"io/fs"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/bundle"
)

//go:embed ui
var sources embed.FS

// UI returns the suites' user interface component (spec/conformance-agents.md 4.2).
func UI() server.UI {
	files, err := fs.Sub(sources, "ui")
	if err != nil { // the folder is embedded
		panic(err)
	}
	return server.UI{Files: files, Entry: "index.jsx", Build: bundle.Build}
}
