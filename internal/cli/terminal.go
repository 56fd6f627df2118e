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

// A Color says when output is colored. The zero value colors the output on a
// terminal.
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

// Set sets the value of the flag.
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

// isTerminal reports whether w is a terminal that knows control sequences.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && hasSequences(f)
}

// patience is how long a run may take before it shows what it does.
const patience = time.Second

// A Progress shows the step that a long run is at, in one line of a terminal,
// and erases it at the end. It may be used concurrently.
type Progress struct {
	mu      sync.Mutex
	out     io.Writer // nil: not a terminal
	program string
	timer   *time.Timer
	shown   bool // the run has taken longer than patience
	at      string
}

// NewProgress starts the progress of a run of a program. It shows nothing unless
// w is a terminal. End ends it.
func NewProgress(program string, w io.Writer) *Progress {
	if !isTerminal(w) {
		return new(Progress)
	}
	return startProgress(program, w)
}

func startProgress(program string, w io.Writer) *Progress {
	p := &Progress{out: w, program: program}
	p.timer = time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.shown = true
		p.show()
	})
	return p
}

// Step sets what the run does now: reading Go packages.
func (p *Progress) Step(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = what
	p.show()
}

// show rewrites the line.
func (p *Progress) show() {
	if p.shown && p.at != "" {
		fmt.Fprintf(p.out, "\r\x1b[K%s: %s…", p.program, p.at)
	}
}

// End erases the line. Later steps are not shown.
func (p *Progress) End() {
	if p.timer == nil {
		return
	}
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.shown, p.at = false, ""
}
