// Package captures replays recorded requests against a Parley server and compares
// its replies with the recorded ones: every frame of every stream, every state,
// history and thread (testdata/README.md). What may differ is listed in mask_test.go, each
// entry with its reason; everything else is a bug.
package captures
