package retry

import "syscall"

// errno records what a system error proves, and reports whether err is one.
// Package syscall invents the numbers of the POSIX errors on Windows, for code
// that returns them itself.
func (f *facts) errno(err error) bool {
	e, ok := err.(syscall.Errno)
	if !ok {
		return false
	}
	f.typed = true
	switch e {
	case syscall.ERROR_BROKEN_PIPE,
		232,   // ERROR_NO_DATA: the pipe is being closed
		10050, // WSAENETDOWN
		10051, // WSAENETUNREACH
		10052, // WSAENETRESET
		10053, // WSAECONNABORTED
		10054, // WSAECONNRESET
		10057, // WSAENOTCONN
		10061, // WSAECONNREFUSED
		10064, // WSAEHOSTDOWN
		10065, // WSAEHOSTUNREACH
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ENOTCONN,
		syscall.ENETDOWN, syscall.ENETUNREACH, syscall.ENETRESET, syscall.EHOSTDOWN, syscall.EHOSTUNREACH:
		f.network = true
	}
	return true
}
