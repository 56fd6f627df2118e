// Package memory provides a store for tests, and for runs that need not survive their
// process.
package memory
