package retry

import "syscall"

func isErrno(err error) bool {
	_, ok := err.(syscall.Errno)
	return ok
}

// isConnectionErrno reports whether err is a Windows Sockets error that says
// that the other side could not be reached or went away.
func isConnectionErrno(err error) bool {
	switch err {
	case syscall.Errno(10050), // WSAENETDOWN
		syscall.Errno(10051), // WSAENETUNREACH
		syscall.Errno(10052), // WSAENETRESET
		syscall.Errno(10053), // WSAECONNABORTED
		syscall.Errno(10054), // WSAECONNRESET
		syscall.Errno(10057), // WSAENOTCONN
		syscall.Errno(10061), // WSAECONNREFUSED
		syscall.Errno(10064), // WSAEHOSTDOWN
		syscall.Errno(10065): // WSAEHOSTUNREACH
		return true
	}
	return false
}
