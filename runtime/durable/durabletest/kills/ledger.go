//go:build unix

package kills

import (
	"bufio"
	"fmt"
	"io"
	"sync"
)

// An attempt is one of a step.
type attempt struct {
	run, step string
	number    int
}

func (a attempt) String() string {
	return fmt.Sprintf("attempt %d of %s of %s", a.number, a.step, a.run)
}

// A ledger has what workers have printed.
type ledger struct {
	mu    sync.Mutex
	lines int
	calls map[attempt]int  // how often each was called
	done  map[attempt]bool // successes that were acknowledged; the number is 0 for the run itself
	last  string           // the run of the latest call
	wrong []string         // lines that are no entries

	writers sync.WaitGroup
}

func newLedger() *ledger { return &ledger{calls: map[attempt]int{}, done: map[attempt]bool{}} }

// read adds the lines of a worker, until it ends.
func (l *ledger) read(r io.Reader) {
	l.writers.Go(func() {
		for lines := bufio.NewScanner(r); lines.Scan(); {
			l.add(lines.Text())
		}
	})
}

func (l *ledger) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines++
	var kind string
	var a attempt
	switch n, _ := fmt.Sscan(line, &kind, &a.run, &a.step, &a.number); {
	case n == 4 && kind == "call":
		l.calls[a]++
		l.last = a.run
	case n == 4 && kind == "done", n == 2 && kind == "end":
		l.done[a] = true
	default:
		l.wrong = append(l.wrong, line)
	}
}

// latest returns the run of the latest call, or "".
func (l *ledger) latest() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// size returns the number of lines.
func (l *ledger) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}
