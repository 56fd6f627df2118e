//go:build !windows

package cli

import "os"

// hasSequences reports whether a terminal knows control sequences: one with a
// TERM that is not dumb does.
func hasSequences(*os.File) bool { return os.Getenv("TERM") != "dumb" }
