// Refund serves one agent of its own: it assesses a refund, asks a person when
// the amount is large, and pays in a durable step.
//
//	go run ./examples/refund serve
//	go run ./examples/refund invoke refund --payload '{"order": "A-17", "cents": 9000}'
package main

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
)

func main() {
	server.Main(server.Options{Agents: []agent.Agent{newRefund(newBank())}})
}
