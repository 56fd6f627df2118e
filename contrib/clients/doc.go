// Package clients tests the presets of clients. It is generated from a policy file with
// all presets. The tests let each client create its errors, and check that the policies
// decide about them as expected.
package clients

//go:generate go tool retrygen .
