package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// A Color is the value of the flag -color. The zero value is auto: output is
// colored on a terminal, unless NO_COLOR is set.
type Color struct{ when string }

// ColorFlag defines the flag -color.
func ColorFlag(flags *flag.FlagSet) *Color {
	c := new(Color)
	flags.Var(c, "color", "`when` to print in color: auto (on a terminal), always or never")
	return c
}

// String returns the value of the flag.
func (c *Color) String() string { return c.when }

// Choices returns the values of the flag, for completion.
func (c *Color) Choices() []string { return []string{"auto", "always", "never"} }

// Set sets the value of the flag. It returns an error unless when is one of
// Choices.
func (c *Color) Set(when string) error {
	if !slices.Contains(c.Choices(), when) {
		return errors.New("write auto, always or never")
	}
	c.when = when
	return nil
}

// On reports whether output to w is colored.
func (c *Color) On(w io.Writer) bool {
	switch c.when {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && isTerminal(w)
}

// isTerminal reports whether w is a terminal that supports control sequences.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && hasSequences(f)
}

// progressDelay is the time after which a run shows its current step.
const progressDelay = time.Second

// A Progress shows the current step of a run on one line of a terminal, if the run
// takes longer than a second. It may be used concurrently.
type Progress struct {
	mu      sync.Mutex
	out     io.Writer // nil: not a terminal
	program string
	timer   *time.Timer
	shown   bool   // progressDelay has passed
	step    string // the current step, or ""
}

// NewProgress returns a started Progress for a run of program. It shows nothing
// unless w is a terminal. The caller must call End.
func NewProgress(program string, w io.Writer) *Progress {
	if !isTerminal(w) {
		return new(Progress)
	}
	return startProgress(program, w)
}

func startProgress(program string, w io.Writer) *Progress {
	p := &Progress{out: w, program: program}
	p.timer = time.AfterFunc(progressDelay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.shown = true
		p.show()
	})
	return p
}

// Shown reports whether the progress is shown at all: on a terminal.
func (p *Progress) Shown() bool { return p.out != nil }

// Step sets the current step, as "reading Go packages".
func (p *Progress) Step(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = what
	p.show()
}

// show rewrites the line.
func (p *Progress) show() {
	if p.shown && p.step != "" {
		fmt.Fprintf(p.out, "\r\x1b[K%s: %s…", p.program, p.step)
	}
}

// Clear erases the line until the next step, so that something else can be printed.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

// erase erases the line. p.mu is held.
func (p *Progress) erase() {
	if p.shown && p.step != "" {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.step = ""
}

// End erases the line. Later steps are not shown.
func (p *Progress) End() {
	if p.timer == nil {
		return
	}
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.shown = false
}
