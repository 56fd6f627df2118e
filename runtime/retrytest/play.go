package retrytest

import (
	"context"
	"time"
)

// A Play is a script of failures, together with what a policy promises for a call with
// these failures.
type Play struct {
	Script  string
	Fewest  int           // minimum number of attempts of the call
	Most    int           // maximum number of attempts
	Longest time.Duration // the call returns within this time, whether virtual or real
}

// Check makes one call and reports an error, with the sequence of steps, for each promise
// of p that the call breaks. call must make the call through a decorator that uses f. Its
// results are ignored, because a fallback may return different ones. In a bubble of
// testing/synctest, waits take no time and durations are exact.
func (p Play) Check(t TB, call func(ctx context.Context, f *Faults)) {
	t.Helper()
	var r Recorder
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	start := time.Now()
	f := Script(p.Script)
	call(r.Context(ctx), f)
	took, attempts := time.Since(start), f.total() // a call without a context has no steps
	switch {
	case attempts < p.Fewest:
		t.Errorf("%d attempts, want at least %d:\n%s", attempts, p.Fewest, shortened(r.lines()))
	case attempts > p.Most:
		t.Errorf("%d attempts, want at most %d:\n%s", attempts, p.Most, shortened(r.lines()))
	}
	if took > p.Longest {
		t.Errorf("the call took %v, want at most %v:\n%s", took, p.Longest, shortened(r.lines()))
	}
}

// shortened joins the lines of a sequence, without the middle of a long one.
func shortened(lines []string) (text string) {
	const ends = 10
	for i, line := range lines {
		switch {
		case i < ends || i >= len(lines)-ends:
			text += "    " + line + "\n"
		case i == ends:
			text += "    …\n"
		}
	}
	if text == "" {
		return "    no steps"
	}
	return text[:len(text)-1]
}
