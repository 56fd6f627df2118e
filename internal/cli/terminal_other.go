//go:build !windows

package cli

import "os"

// hasSequences reports whether a terminal supports control sequences, which it does
// unless TERM is dumb.
func hasSequences(*os.File) bool { return os.Getenv("TERM") != "dumb" }
