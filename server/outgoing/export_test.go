package outgoing

import "net"

// Resolve has a guard's names resolved by r.
func Resolve(g *Guard, r *net.Resolver) { g.dialer.Resolver = r }
