package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// childArg is the first argument of a process that this program starts.
const childArg = "child-process"

// children are what such a process may be asked to do, by the next argument.
var children = map[string]func(args []string) error{
	"resume":   func(args []string) error { return crashResume(args[0]) },
	"recovery": func(args []string) error { return crashRecovery(args[0]) },
	"writer":   writeRecords,
}

func child(name string, args []string) int {
	if err := children[name](args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// childCommand returns the command of such a process. A test is this program,
// too: see TestMain.
func childCommand(name string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{childArg, name}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// runChild runs a process until it kills itself.
func runChild(name, dir string) error {
	cmd, err := childCommand(name, dir)
	if err != nil {
		return err
	}
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return nil
		}
	}
	return fmt.Errorf("process %s was not killed: %w", name, err)
}

// kill kills this process, as a crash would.
func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
