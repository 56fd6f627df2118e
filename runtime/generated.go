package retry

// GeneratedV1 is referred to by every generated file, so that a file generated
// for another version of the runtime does not compile against this one.
const GeneratedV1 = true
