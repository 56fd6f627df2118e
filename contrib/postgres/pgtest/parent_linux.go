package pgtest

import "syscall"

// diesWithParent lets a server end with the test that has started it, even if that
// is killed.
func diesWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
