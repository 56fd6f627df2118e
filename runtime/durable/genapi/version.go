package genapi

import api "github.com/retrygen/retrygen/runtime/genapi"

// GeneratedV1 is the version of the interface to generated code with durable steps. Every
// such file refers to it, so a file generated for a different version of the runtime does
// not compile against this one. The same holds for [api.GeneratedV1].
const GeneratedV1 = api.GeneratedV1
