// Package genapi is what generated code calls in addition to the methods of
// retry.Call: positions to which arguments are rewound, the context that a builder
// holds, and errors as values. Its names are part of the contract between the generator
// and this module, not of what people write: they call the wrapper, or retry.Do.
//
// Files with durable steps use package genapi below runtime/durable as well.
package genapi

// GeneratedV1 is the version of the interface to generated code, which includes the
// methods of retry.Call. Every generated file refers to it, so that one generated
// for another version of the runtime does not compile against this one.
const GeneratedV1 = true
