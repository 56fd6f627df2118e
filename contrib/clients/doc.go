// Package clients is generated from a policy file that has all presets. Its tests
// make the errors of the clients that the presets read, as the clients make them,
// and compare what the policies decide with what should follow.
package clients

//go:generate go tool retrygen .
