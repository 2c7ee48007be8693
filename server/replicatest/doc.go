// Package replicatest tests several servers on one Redis: what one accepts another
// carries out, what one stores the others' readers see, and what a killed one
// leaves another goes on with.
package replicatest
