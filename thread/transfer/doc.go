// Package transfer moves everything that a store keeps: from one store to another, or
// to a file and back. A dump is a sequence of records which knows no store's layout;
// what a store derives (indexes, queues) isn't part of it and is made anew.
//
// Copy is all or nothing: a store that is being loaded is opened by nobody else until
// the copy has been read back and found equal.
package transfer
