// Package clients tests the presets for clients. It is generated from a policy file with
// all presets. The tests make each client return its errors, and check that the policies
// classify them as expected.
package clients

//go:generate go tool retrygen .
