package scripttest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/creack/pty"
)

// Terminal is the command terminal COMMAND [ARGS...] of scripts, for testscript.Main.
// It runs a command whose standard output and standard error are a terminal, copies the
// output of the terminal to its own standard output, and exits with the command's status.
// Lines end with \r\n.
//
// The command ttyin of testscript is not used, because it closes the terminal as soon as
// the command has ended. Under load, it loses output that it has not read by then.
func Terminal() {
	status, err := onTerminal(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "terminal:", err)
		status = 125 // as env and timeout do when they fail themselves
	}
	os.Exit(status)
}

// onTerminal runs a command on a terminal and returns its exit status.
func onTerminal(command []string) (status int, err error) {
	if len(command) == 0 {
		return 0, errors.New("usage: terminal command [args...]")
	}
	control, tty, err := pty.Open()
	if err != nil {
		return 0, err
	}
	defer control.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = tty, tty
	err = cmd.Start()
	tty.Close() // only the command has it open, so that the output ends when the command does
	if err != nil {
		return 0, err
	}
	// The output of a terminal ends with EIO on Linux.
	if _, err := io.Copy(os.Stdout, control); err != nil && !errors.Is(err, syscall.EIO) {
		return 0, err
	}
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}
