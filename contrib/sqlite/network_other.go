//go:build !linux && !darwin && !freebsd && !windows

package sqlite

// networkOf returns "", because this system does not report the kind of a file
// system.
func networkOf(string) (string, error) { return "", nil }
