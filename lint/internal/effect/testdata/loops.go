package p

import (
	"bufio"
	"errors"
	"log"
	"net"
	"time"
)

type caller interface{ Call(key string) error }

type directory interface {
	Users(group string) caller
	Refresh()
}

var errStale = errors.New("stale")

type worker struct {
	caller   caller
	key      string
	keys     []string
	addrs    []string
	failures int
	lastErr  error
	closed   bool
	hosts    struct{ now string }
	r        *bufio.Reader
}

func (w *worker) log(err error) { w.lastErr = err; log.Print(w.key, err) }
func (w *worker) rotate()       { w.keys = append(w.keys[1:], w.key); w.key = w.keys[0] }
func turn(host *string)         { *host += "1" }
func (w *worker) Close()        { w.closed = true }

func (w *worker) dial() error {
	_, err := net.Dial("tcp", w.addrs[0])
	return err
}

func (w *worker) dialNext() error {
	_, err := net.Dial("tcp", w.addrs[w.failures%len(w.addrs)])
	return err
}

func (w *worker) dialInTurn() error {
	w.failures++
	return w.dialNext()
}

func (w *worker) dialUnlessClosed() error {
	if w.closed {
		return nil
	}
	return w.dial()
}

func (w *worker) dialWhenClosed() error {
	if !w.closed {
		return nil
	}
	return w.dial()
}

func (w *worker) dialSome() error {
	if w.failures++; w.failures > 5 {
		return errStale
	}
	return w.dial()
}

// Nothing that the operation reads is written.
func (w *worker) recordsErrors() {
	for {
		err := w.caller.Call(w.key)
		if err == nil {
			return
		}
		w.lastErr = err
		w.log(err)
		time.Sleep(time.Second)
	}
}

func (w *worker) countsFailures() {
	for w.dial() != nil {
		w.failures++
	}
}

// Something is.
func (w *worker) connectsToNext() {
	for w.dialNext() != nil {
		w.failures++
	}
}

func (w *worker) rotates() {
	for w.caller.Call(w.key) != nil {
		w.rotate()
	}
}

func (w *worker) turnsPart() {
	for w.caller.Call(w.hosts.now) != nil {
		turn(&w.hosts.now)
	}
}

func shifts(c caller, keys []string) {
	for c.Call(keys[0]) != nil {
		copy(keys, keys[1:])
	}
}

// Code that is not known decides it.
func (w *worker) asksStranger(change func(*worker)) {
	for w.dial() != nil {
		change(w)
	}
}

func refreshes(d directory) {
	for d.Users("admins").Call("me") != nil {
		d.Refresh()
	}
}

// Operations that end by themselves, and some that do not.
func (w *worker) unlessClosed() {
	for w.dialUnlessClosed() != nil {
	}
}

func (w *worker) whenClosed() {
	for w.dialWhenClosed() != nil {
	}
}

func (w *worker) some() error {
	for {
		if err := w.dialSome(); err == nil || errors.Is(err, errStale) {
			return err
		}
	}
}

func (w *worker) inTurn() {
	for w.dialInTurn() != nil {
	}
}

func (w *worker) reads() (s string) {
	for {
		var err error
		if s, err = w.r.ReadString('\n'); err == nil {
			return s
		}
	}
}

func countsInClosure(c caller) {
	n := 0
	call := func() error {
		if n++; n > 5 {
			return nil
		}
		return c.Call("k")
	}
	for call() != nil {
	}
}

func setsInClosure(c caller) (key string) {
	call := func() error {
		key = "k"
		return c.Call("k")
	}
	for call() != nil {
	}
	return key
}

type finder interface{ Find(options ...any) error }

// Each attempt has a list of options of its own.
func options(f finder, x any) {
	for f.Find(x, 1) != nil {
	}
}
