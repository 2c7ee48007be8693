// Support serves an agent with tools: it looks into help pages on its own, and pays
// refunds that a person has approved.
//
//	go run ./examples/support serve
//
// Without SUPPORT_MODEL it plays a script; with it, and the provider's key, it asks a model:
//
//	SUPPORT_MODEL=openai:gpt-5-mini go run ./examples/support serve
package main

import (
	"log"
	"os"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/model/providers"
	"github.com/parley-dev/parley/server"
)

func main() {
	m := offline()
	if name := os.Getenv("SUPPORT_MODEL"); name != "" {
		var err error
		if m, err = providers.Parse(name, providers.Env{}); err != nil {
			log.Fatal(err)
		}
	}
	support, err := newSupport(m, newShop())
	if err != nil {
		log.Fatal(err)
	}
	server.Main(server.Options{Agents: []agent.Agent{support}})
}
