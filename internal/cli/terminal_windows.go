package cli

import (
	"os"
	"syscall"
)

var setConsoleMode = syscall.NewLazyDLL("kernel32.dll").NewProc("SetConsoleMode")

// hasSequences reports whether a console knows control sequences, which it does
// after they are enabled. Consoles before Windows 10 do not know them.
func hasSequences(f *os.File) bool {
	const enableVirtualTerminalProcessing = 0x4
	var mode uint32
	if syscall.GetConsoleMode(syscall.Handle(f.Fd()), &mode) != nil {
		return false
	}
	done, _, _ := setConsoleMode.Call(f.Fd(), uintptr(mode|enableVirtualTerminalProcessing))
	return done != 0
}
