package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// patience is how long a run may take before it tells what it does.
const patience = time.Second

// progress shows the step that a long run is at, in one line of a terminal
// that is gone at the end.
type progress struct {
	mu    sync.Mutex
	out   io.Writer // nil: not a terminal
	timer *time.Timer
	shown bool // the run has taken longer than patience
	at    string
}

// newProgress shows nothing unless w is a terminal.
func newProgress(w io.Writer) *progress {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb" {
			return startProgress(w)
		}
	}
	return &progress{}
}

func startProgress(w io.Writer) *progress {
	p := &progress{out: w}
	p.timer = time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.shown = true
		p.show()
	})
	return p
}

// step says what the run does now.
func (p *progress) step(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = what
	p.show()
}

// show rewrites the line.
func (p *progress) show() {
	if p.shown && p.at != "" {
		fmt.Fprintf(p.out, "\r\x1b[Kretrygen: %s…", p.at)
	}
}

// end takes the line away.
func (p *progress) end() {
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
