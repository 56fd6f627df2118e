//go:build !plan9 && !windows

package retry

import "syscall"

// errno records what a system error proves, and reports whether err is one.
func (f *facts) errno(err error) bool {
	e, ok := err.(syscall.Errno)
	if !ok {
		return false
	}
	f.typed = true
	switch e {
	case syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ENOTCONN,
		syscall.ENETDOWN, syscall.ENETUNREACH, syscall.ENETRESET, syscall.EHOSTDOWN, syscall.EHOSTUNREACH:
		f.network = true
	}
	return true
}
