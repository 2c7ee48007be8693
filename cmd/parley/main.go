// Command parley serves agents over HTTP: durable threads and runs with people
// in the loop.
package main

import (
	"fmt"
	"os"

	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/providers"
	"github.com/parley-dev/parley/server"
)

// demoModel names the variable with the model of the demo agents that use tools, such
// as openai:gpt-5-mini. Without it they play a script.
const demoModel = "PARLEY_DEMO_MODEL"

func main() {
	var speaks model.Model
	if name := os.Getenv(demoModel); name != "" {
		var err error
		if speaks, err = providers.Parse(name, providers.Env{}); err != nil {
			fmt.Fprintf(os.Stderr, "parley: %s: %v\n", demoModel, err)
			os.Exit(2)
		}
	}
	server.Main(server.Options{Sets: sets(speaks)})
}
