// Package agent is the runtime: graphs of nodes that run in supersteps over
// channels, pause for a person with Interrupt, go on with Command and never
// repeat a finished Step. It knows no HTTP and no storage: what it does leaves
// through Execution.Recorder, what it knows comes in through Execution.Reader.
package agent
