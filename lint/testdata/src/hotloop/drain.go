package hotloop

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"
)

// The break leaves the select, and nothing else.
func breaks(ctx context.Context) {
	n := 0
	ticker := time.NewTicker(time.Second)
	for {
		select {
		case <-ctx.Done(): // want `after ctx has ended this case repeats without end: leave the loop.*RL115\)`
			break
		case <-ticker.C:
			n++
		}
	}
}

// To log it is not to leave.
func logs(ctx context.Context, jobs <-chan int) {
	for {
		select {
		case <-ctx.Done(): // want `after ctx has ended this case repeats without end`
			log.Print("stopped")
		case n := <-jobs:
			log.Print(n)
		}
	}
}

// Both cases lead to what asks a server, as often as it can.
func polls(ctx context.Context, url string) {
	for {
		select {
		case <-ctx.Done(): // want `after ctx has ended this case repeats without end.*RL115; named\)`
		case <-time.After(time.Second):
		}
		if resp, err := http.Get(url); err == nil {
			resp.Body.Close()
		}
	}
}

func drained(jobs <-chan int, ticks <-chan time.Time) {
	for {
		select {
		case n, ok := <-jobs: // want `after the channel is closed this receive repeats without end`
			if !ok {
				log.Print("no more jobs")
				continue
			}
			log.Print(n)
		case <-ticks:
			log.Print("tick")
		}
	}
}

func drainedAlone(jobs <-chan int) {
	for {
		n, ok := <-jobs // want `after the channel is closed this receive repeats without end`
		if ok {
			log.Print(n)
		}
	}
}

// The idiom for a channel that is done.
func nopeNil(jobs <-chan int, ticks <-chan time.Time) {
	for {
		select {
		case n, ok := <-jobs:
			if !ok {
				jobs = nil
				continue
			}
			log.Print(n)
		case <-ticks:
			log.Print("tick")
		}
	}
}

func nopeLeavesLoop(ctx context.Context, jobs <-chan int) {
loop:
	for {
		select {
		case <-ctx.Done():
			break loop
		case n, ok := <-jobs:
			if !ok {
				return
			}
			log.Print(n)
		}
	}
	log.Print("stopped")
}

func nopeAsks(ctx context.Context, jobs <-chan int) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case n := <-jobs:
			log.Print(n)
		}
	}
}

func nopeFlag(ctx context.Context, jobs <-chan int) {
	for stopped := false; !stopped; {
		select {
		case <-ctx.Done():
			stopped = true
		case n := <-jobs:
			log.Print(n)
		}
	}
}

// It waits for what it has asked to stop.
func nopeShutdown(ctx context.Context, s *http.Server, errs <-chan error) error {
	for {
		select {
		case <-ctx.Done(): // want `RL115; named`
			s.Close()
		case err := <-errs:
			return err
		}
	}
}

type feed struct{ events chan int }

func (f *feed) reopen() { f.events = make(chan int) }

func (f *feed) nopeReopens() {
	for {
		n, ok := <-f.events
		if !ok {
			f.reopen()
			continue
		}
		log.Print(n)
	}
}

// After a second the inner loop ends, and with it the outer one.
func nopeInner(ctx context.Context, jobs <-chan int) {
	for {
		for wait := true; wait; {
			select {
			case <-ctx.Done():
				wait = false
			case n := <-jobs:
				log.Print(n)
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// It is the same if no case does anything.
func empty(ctx context.Context) {
	for {
		select {
		case <-ctx.Done(): // want `after ctx has ended this case repeats without end`
		case <-time.After(time.Second):
		}
	}
}

// A channel may have a type parameter as its type.
type pipe[C ~chan T, T any] struct{ items C }

func (p *pipe[C, T]) stop() { close(p.items) }

func (p *pipe[C, T]) take(handle func(T)) {
	for {
		item, ok := <-p.items // want `after the channel is closed this receive repeats without end.*RL115; named\)`
		if ok {
			handle(item)
		}
	}
}

// Nobody closes a channel of signals.
func nopeSignals(handle func(os.Signal)) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	for {
		for s := range signals { // want `after the channel is closed this receive repeats without end.*RL115; named\)`
			handle(s)
		}
	}
}
