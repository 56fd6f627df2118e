// Package genapi contains the functions that generated code calls in addition to the
// methods of retry.Call. They rewind arguments, find the context that a builder holds,
// and inspect errors. The names are a contract between the generator and this module. Do
// not use them in your own code: call the generated wrapper, or retry.Do.
//
// Generated files with durable steps also use package runtime/durable/genapi.
package genapi

// GeneratedV1 is the version of the interface to generated code, which includes the
// methods of retry.Call. Every generated file refers to it, so a file generated for a
// different version of the runtime does not compile against this one.
const GeneratedV1 = true
