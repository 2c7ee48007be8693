// Command parley serves agents over HTTP: durable threads and runs with people
// in the loop.
package main

import "github.com/parley-dev/parley/server"

func main() { server.Main(server.Options{Sets: sets()}) }
