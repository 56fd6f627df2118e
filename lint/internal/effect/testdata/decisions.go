package p

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

var errSpent = errors.New("spent")

type link struct {
	addr   string
	closed bool
	open   bool
	never  bool
	n      int
	began  time.Time
	conn   net.Conn
	done   atomic.Bool
	stopC  chan struct{}
}

func (l *link) Close()            { l.closed = true }
func (l *link) Open()             { l.open = false }
func (l *link) dial() (err error) { l.conn, err = net.Dial("tcp", l.addr); return err }

// Others set what it returns nil for.
func (l *link) unlessClosed() error {
	if l.closed {
		return nil
	}
	return l.dial()
}

// Nobody sets what it returns nil for.
func (l *link) whenClosed() error {
	if !l.closed {
		return nil
	}
	return l.dial()
}

func (l *link) unlessOpen() error {
	if l.open || l.never {
		return nil
	}
	return l.dial()
}

func (l *link) atomically() error {
	if l.done.Load() {
		return nil
	}
	return l.dial()
}

// Only a success writes what it decides by.
func (l *link) onSuccess() error {
	if l.conn != nil {
		return nil
	}
	conn, err := net.Dial("tcp", l.addr)
	if err != nil {
		return err
	}
	l.conn = conn
	return nil
}

func (l *link) counts() error {
	if l.n++; l.n > 5 {
		return errSpent
	}
	return l.dial()
}

func (l *link) late() bool { return time.Since(l.began) > time.Minute }

func (l *link) inTime() error {
	if l.late() {
		return nil
	}
	return l.dial()
}

func (l *link) passesOn() error {
	if err := l.unlessClosed(); err != nil {
		return err
	}
	return l.dial()
}

func (l *link) last() error {
	if err := l.dial(); err != nil {
		return err
	}
	return l.unlessClosed()
}

func (l *link) serves(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errSpent
		}
	}()
	for {
		select {
		case <-l.stopC:
			return
		case <-ctx.Done():
			return ctx.Err()
		default:
			l.dial()
		}
	}
}

// A parameter and an answer are no state.
func (l *link) options(skip bool) error {
	if skip {
		return nil
	}
	conn, err := net.Dial("tcp", l.addr)
	if err != nil || conn.RemoteAddr() == nil {
		return nil
	}
	return nil
}
