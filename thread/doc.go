// Package thread holds the durable truth: threads, runs, checkpoints,
// interrupts, the event log. It is the only package that commits. Service is
// what servers call; Worker executes runs; Store is where everything lives.
package thread
