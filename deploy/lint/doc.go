// Package lint checks the files of a deployment with the libraries of the tools that
// read them: Docker's own parser and linter, Compose's loader, Kubernetes' types.
// It is a module of its own, so that Parley doesn't depend on them.
package lint
