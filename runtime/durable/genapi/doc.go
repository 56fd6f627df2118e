// Package genapi contains what generated code needs for durable steps: a [StepPolicy] for
// each binding, functions for a call's id and the digests of its arguments, and [Call].
// The names are a contract between the generator and this module. Do not use them in your
// own code: call the generated wrapper, or durable.Step.
//
// A call finds its run and its engine in the context.
package genapi
