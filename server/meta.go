package server

import (
	"net/http"
	"runtime/debug"

	"github.com/labstack/echo/v4"
)

// info is GET /info; it never needs auth.
func (s *Server) info(c echo.Context) error {
	type flags struct {
		Assistants bool `json:"assistants"`
		Crons      bool `json:"crons"`
		Langsmith  bool `json:"langsmith"`
		Replicas   bool `json:"langsmith_tracing_replicas"`
	}
	return writeJSON(c, http.StatusOK, struct {
		Version string `json:"version"`
		Context string `json:"context"`
		Server  string `json:"server"`
		Flags   flags  `json:"flags"`
	}{s.version, "go", "parley", flags{Assistants: true, Crons: true}})
}

// moduleVersion is the version that the binary was built from.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	const module = "github.com/parley-dev/parley"
	if info.Main.Path == module && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	for _, d := range info.Deps {
		if d.Path == module {
			return d.Version
		}
	}
	return "dev"
}
