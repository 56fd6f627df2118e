//go:build !plan9 && !windows

package retry

import "syscall"

func isErrno(err error) bool {
	_, ok := err.(syscall.Errno)
	return ok
}

// isConnectionErrno reports whether err says that the other side could not be
// reached or went away. Errnos whose Timeout method holds come earlier.
func isConnectionErrno(err error) bool {
	switch err {
	case syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ENOTCONN,
		syscall.ENETDOWN, syscall.ENETUNREACH, syscall.ENETRESET, syscall.EHOSTDOWN, syscall.EHOSTUNREACH:
		return true
	}
	return false
}
