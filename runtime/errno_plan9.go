package retry

import "syscall"

func isErrno(err error) bool {
	_, ok := err.(syscall.ErrorString)
	return ok
}

// isConnectionErrno finds nothing: Plan 9's errors are texts, and the text of
// an error is looked at where its type says nothing.
func isConnectionErrno(error) bool { return false }
