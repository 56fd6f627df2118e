// Package genapi is what generated code calls for durable steps: a [StepPolicy] for
// each binding, the id of a call and the digests of its arguments, and [Call]. Its
// names are part of the contract between the generator and this module, not of what
// people write: they call the wrapper, or durable.Step.
//
// It needs no engine. A call finds the run, and with it the engine, in its context.
package genapi
