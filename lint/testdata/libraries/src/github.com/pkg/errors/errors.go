// Package errors declares what the test uses of the real one.
package errors

func Wrap(err error, message string) error { return err }

func Errorf(format string, args ...any) error { return nil }
