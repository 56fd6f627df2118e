package deafwait

import (
	"context"
	"errors"
	"time"
)

// The parameter is ignored.
func stopIgnored(stop <-chan struct{}, ping func() error) {
	for range 10 {
		if ping() == nil {
			return
		}
		time.Sleep(time.Second) // want `this wait continues after stop is closed: wait in a select with it`
	}
}

// Others wait until this has ended: it closes the channel.
func nopeCloses(done chan struct{}, ping func() error) {
	defer close(done)
	for range 10 {
		if ping() == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

func nopeSends(done chan struct{}, ping func() error) {
	for range 10 {
		if ping() == nil {
			done <- struct{}{}
			return
		}
		time.Sleep(time.Second)
	}
}

type poller struct {
	halt chan struct{}
	ping func() error
}

// It is asked, but not by the wait.
func (p *poller) stopAsked() {
	for {
		select {
		case <-p.halt:
			return
		default:
		}
		if p.ping() == nil {
			return
		}
		time.Sleep(5 * time.Second) // want `this wait continues after halt is closed: wait in a select with it`
	}
}

func (p *poller) nopeStopHeeded() {
	for {
		if p.ping() == nil {
			return
		}
		select {
		case <-p.halt:
			return
		case <-time.After(5 * time.Second):
		}
	}
}

func (p *poller) nopeStopSoon() {
	for {
		select {
		case <-p.halt:
			return
		default:
		}
		if p.ping() == nil {
			return
		}
		time.Sleep(500 * time.Millisecond) // want `RL102; named`
	}
}

// What wakes it up is no request to stop.
func (p *poller) nopeWakes(wake <-chan struct{}) {
	for range 10 {
		if p.ping() == nil {
			return
		}
		select {
		case <-wake:
		case <-time.After(5 * time.Second):
		}
	}
}

// Another channel ends the wait early, and the end of the context does not.
func otherChannel(ctx context.Context, wake <-chan struct{}, ping func(context.Context) error) {
	for range 10 {
		if ping(ctx) == nil {
			return
		}
		select { // want `this wait continues after ctx has ended`
		case <-wake:
		case <-time.After(5 * time.Second):
		}
	}
}

func nopeOtherChannelEnds(ctx context.Context, stop <-chan struct{}, ping func(context.Context) error) {
	for range 10 {
		if ping(ctx) == nil {
			return
		}
		select {
		case <-stop:
			return
		case <-time.After(5 * time.Second):
		}
	}
}

// What is received says nothing but to stop.
type listener struct {
	stop <-chan int
	ping func() error
}

func (l *listener) stopByNumber() error {
	failures := 5
	for {
		select {
		case <-l.stop:
			return errors.New("stopped")
		default:
			if failures == 0 {
				return errors.New("too many failures")
			}
			if err := l.ping(); err != nil {
				failures--
				time.Sleep(5 * time.Second) // want `this wait continues after stop is closed: wait in a select with it \(RL102; library\)`
				continue
			}
			failures = 5
		}
	}
}

// An answer that is used is none that asks to stop.
func nopeAnswer(answers <-chan int, ping func() error) (int, error) {
	for {
		select {
		case n := <-answers:
			return n, nil
		default:
			if err := ping(); err != nil {
				time.Sleep(5 * time.Second)
				continue
			}
			return 0, nil
		}
	}
}
