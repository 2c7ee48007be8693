package agent

import "context"

// Run carries out one run until it ends, suspends, fails or ctx is cancelled.
// All it does leaves through exec.Recorder. The error is for the caller's log only:
// a failure of the Recorder or Reader; failures of the graph are in the Outcome.
func (g *Graph) Run(ctx context.Context, exec Execution) (Outcome, error) { panic("unimplemented") }
