package cli

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Fail prints an error, with the name of the program on each line, and returns
// Failed.
func Fail(stderr io.Writer, program string, err error) int {
	for line := range strings.Lines(Text(err)) {
		fmt.Fprintf(stderr, "%s: %s\n", program, strings.TrimSpace(line))
	}
	return Failed
}

// Text returns the text of an error without the names of system calls, which tell a
// user nothing: "x: no such file or directory" instead of "open x: no such file or
// directory". A path that the line has already named is not repeated.
func Text(err error) string {
	text := err.Error()
	visit(err, func(err error) {
		switch e := err.(type) {
		case *fs.PathError:
			text = rewrite(text, e, e.Path, e.Err)
		case *os.LinkError:
			text = rewrite(text, e, e.New, e.Err)
		case *os.SyscallError:
			text = strings.ReplaceAll(text, e.Error(), e.Err.Error())
		}
	})
	return text
}

// rewrite replaces the text of an error about a file by its cause, after the path.
func rewrite(text string, err error, path string, cause error) string {
	before, after, found := strings.Cut(text, err.Error())
	if !found {
		return text
	}
	line := before[strings.LastIndexByte(before, '\n')+1:]
	if !strings.Contains(" "+line, " "+path+": ") {
		before += path + ": "
	}
	return before + cause.Error() + after
}

// visit calls f for an error and all that it wraps.
func visit(err error, f func(error)) {
	if err == nil {
		return
	}
	f(err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		visit(e.Unwrap(), f)
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			visit(err, f)
		}
	}
}
