package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// A checkConfig holds the flags and the arguments of retrylint.
type checkConfig struct {
	finder
	printer
	fix  bool // apply fixes to the files
	diff bool // only print what fix would change
}

// check finds findings, fixes them and prints what is left. It returns their number. If
// some packages do not compile, it prints the findings of the others, changes no file
// and returns an error.
func check(config checkConfig, stdout, stderr io.Writer) (found int, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	r, err := config.find(dir, stderr)
	if left := new(uncompiled); errors.As(err, &left) && (left.checked > 0 || len(r.findings) > 0) && !config.changes() {
		return len(r.findings), errors.Join(config.print(r, stdout, stderr, dir), err)
	}
	if err != nil {
		return 0, err
	}
	if config.fix || config.diff {
		fixed, err := fix(r.findings, config.diff, stdout, dir)
		if err != nil || config.diff {
			return len(r.findings), err
		}
		if r, err = config.findAgain(r, fixed, dir, stderr); err != nil {
			return 0, err
		}
	}
	return len(r.findings), config.print(r, stdout, stderr, dir)
}

// changes reports whether the program writes to files that findings are about, or that
// record them: that is done only if everything was checked.
func (config checkConfig) changes() bool { return config.fix || config.diff || config.baseline != "" }

// findAgain reports which files were fixed, and returns what is found after that. The
// other findings are on other lines then.
func (config checkConfig) findAgain(r result, fixed []string, dir string, stderr io.Writer) (result, error) {
	if len(fixed) == 0 {
		return r, nil
	}
	for _, file := range fixed {
		fmt.Fprintln(stderr, "retrylint: fixed", relative(file, dir))
	}
	return config.find(dir, stderr)
}
