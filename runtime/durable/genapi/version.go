package genapi

import api "github.com/retrygen/retrygen/runtime/genapi"

// GeneratedV1 is the version of the interface to generated code with durable steps.
// Every such file refers to it, so that one generated for another version of the
// runtime does not compile against this one. It holds for [api.GeneratedV1] as well.
const GeneratedV1 = api.GeneratedV1
