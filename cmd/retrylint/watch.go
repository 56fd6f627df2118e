package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// A watch follows a run of go vet: it shows progress, and keeps what the go command
// prints to standard error. It may be used concurrently.
type watch struct {
	step    func(what string) // shows progress; nil if nobody sees it
	verbose io.Writer         // for the flag -v; nil without it
	total   func() int        // counts the packages to check; called at most once, if step is set

	mu       sync.Mutex
	checked  int    // packages whose findings are known
	of       int    // packages to check, or 0 if the number is not known
	analyzed int    // packages that the build cache did not have
	current  string // id of the package that the tool began last
	text     []string
}

// wanted reports whether anybody reads which packages are analyzed.
func (w *watch) wanted() bool { return w.verbose != nil || w.step != nil }

// line handles a line of the standard error of go vet.
func (w *watch) line(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id, ok := strings.CutPrefix(line, announcedAnalysis); ok {
		w.analyzed++
		if w.verbose != nil {
			fmt.Fprintln(w.verbose, "retrylint: analyzing", id)
		}
		w.begin(id)
	} else if id, ok := strings.CutPrefix(line, announcedTypes); ok {
		w.begin(id)
	} else if strings.HasPrefix(line, "go: downloading ") {
		w.show(strings.TrimPrefix(line, "go: "))
	} else if !strings.HasPrefix(line, "# ") { // the package of the lines that follow
		w.text = append(w.text, line)
	}
}

// start prepares for a run of go vet.
func (w *watch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checked, w.text = 0, nil
}

// begin notes that the tool has begun a package.
func (w *watch) begin(id string) {
	if w.current == "" && w.step != nil {
		go w.count()
	}
	w.current, _, _ = strings.Cut(id, " ") // without the test that the package is compiled for
	w.showCurrent()
}

// count counts the packages to check.
func (w *watch) count() {
	n := w.total()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of = n
	w.showCurrent()
}

// packageDone notes that the findings of a package are known.
func (w *watch) packageDone() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checked++
	w.showCurrent()
}

// showCurrent shows the current package, unless nothing had to be analyzed so far.
func (w *watch) showCurrent() {
	if w.current == "" {
		return
	}
	number := strconv.Itoa(w.checked)
	if w.of > 0 {
		number += fmt.Sprintf(" of %d", w.of)
	}
	path := []rune(w.current)
	if n := len(path) - longestPath; n > 0 {
		path = append([]rune("…"), path[n+1:]...)
	}
	w.show(fmt.Sprintf("packages checked: %s; now %s", number, string(path)))
}

// longestPath is the number of characters of an import path in the progress, whose
// line must not wrap.
const longestPath = 36

func (w *watch) show(what string) {
	if w.step != nil {
		w.step(what)
	}
}

// err returns what the go command has printed as an error, or nil if it has printed
// nothing.
func (w *watch) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.text) == 0 {
		return nil
	}
	return errors.New(strings.Join(w.text, "\n"))
}

// end prints how many packages were analyzed, if the flag -v is set.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.verbose != nil {
		fmt.Fprintf(w.verbose, "retrylint: packages analyzed: %d\n", w.analyzed)
	}
}
