package retry

import "syscall"

// errno reports whether err is a system error. Those of Plan 9 are texts, whose
// type proves nothing: they are classified by their words.
func (f *facts) errno(err error) bool {
	_, ok := err.(syscall.ErrorString)
	return ok
}
