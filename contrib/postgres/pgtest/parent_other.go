//go:build unix && !linux

package pgtest

import "syscall"

// diesWithParent does nothing: this system cannot.
func diesWithParent(*syscall.SysProcAttr) {}
