package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// Version returns the version of the module that this binary was built from.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// printVersion prints what a report of a bug needs.
func (p *Program) printVersion(stdout io.Writer) int {
	fmt.Fprintf(stdout, "%s %s, built with %s for %s/%s\n", p.Name, Version(), runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
	return OK
}
