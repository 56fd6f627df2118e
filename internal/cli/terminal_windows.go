package cli

import (
	"os"
	"syscall"
)

var setConsoleMode = syscall.NewLazyDLL("kernel32.dll").NewProc("SetConsoleMode")

// hasSequences enables control sequences and reports whether the console supports
// them. Consoles before Windows 10 do not.
func hasSequences(f *os.File) bool {
	const enableVirtualTerminalProcessing = 0x4
	var mode uint32
	if syscall.GetConsoleMode(syscall.Handle(f.Fd()), &mode) != nil {
		return false
	}
	done, _, _ := setConsoleMode.Call(f.Fd(), uintptr(mode|enableVirtualTerminalProcessing))
	return done != 0
}
