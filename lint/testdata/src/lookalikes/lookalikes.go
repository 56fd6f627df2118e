// Package lookalikes holds what is no fault although it looks like one: each was reported
// once.
package lookalikes

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

type service struct {
	stop   context.CancelFunc // who closes the service calls it
	n      int
	gaveUp bool
	began  time.Time
	br     *bufio.Reader
}

func ping() error { _, err := http.Get("http://localhost/"); return err }

func (s *service) nopeCancelInField() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.stop = cancel
	for ctx.Err() == nil {
		if ping() == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

var errSpent = errors.New("too many attempts")

func (s *service) tire() error {
	if s.n++; s.n > 5 {
		return errSpent
	}
	return ping()
}
func (s *service) nopeTriesTired() error {
	for { // want `retry of tire .*RL101; named`
		err := s.tire()
		if err == nil || errors.Is(err, errSpent) {
			return err
		}
		time.Sleep(time.Second)
	}
}
func (s *service) attempt() error {
	err := ping()
	if s.n++; err != nil && s.n == 5 {
		s.gaveUp = true
	}
	return err
}
func (s *service) nopeFailureSetsFlag() error {
	for { // want `retry of attempt .*RL101; named`
		err := s.attempt()
		if err == nil || s.gaveUp {
			return err
		}
		time.Sleep(time.Second)
	}
}
func check(n int) {
	if n > 10 {
		log.Fatal("too many")
	}
}
func nopeHelperExits() {
	for n := 0; ping() != nil; n++ {
		check(n)
		time.Sleep(time.Second)
	}
}

type Budget struct{ left int }

func (b *Budget) Allow() bool { b.left--; return b.left >= 0 }

var budget = &Budget{10}

func again(err error) bool { return err != io.EOF && budget.Allow() }
func nopeBudgetOfPackage() error {
	for {
		err := ping()
		if err == nil || !again(err) {
			return err
		}
		time.Sleep(time.Second)
	}
}
func nopeLengthOfMap(quit chan int, seen map[int]error) error {
	for { // want `retry of ping .*RL101; named`
		err := ping()
		if err == nil || len(seen) > 3 {
			return err
		}
		seen[len(seen)] = err
		time.Sleep(time.Second)
	}
}

type Options struct{ Left int }

func spend(o *Options) { o.Left-- }
func nopeSpentOption(o *Options) error {
	for {
		err := ping()
		if err == nil || o.Left == 0 {
			return err
		}
		spend(o)
		time.Sleep(time.Second)
	}
}

// There is more to do.
func nopeAgainAfterSuccess(c *service) error {
	if err := c.tire(); err == nil {
		return nopeAgainAfterSuccess(c)
	}
	return nil
}
func (s *service) line() (string, error) {
	return s.br.ReadString('\n')
}
func (s *service) nopeSkipsLine() string {
	l, err := s.line()
	if err != nil {
		log.Print(err)
		return s.nopeSkipsLine()
	}
	return l
}

type doer interface {
	Do(context.Context) error
}

func nopeStates(addr string) (c net.Conn, err error) {
	st := 0
	for {
		switch st {
		case 0:
			if c, err = net.Dial("tcp", addr); err != nil {
				st = 2
			} else {
				st = 1
			}
		case 1:
			return c, nil
		case 2:
			return nil, err
		}
	}
}
func nopeSaysNo(ctx context.Context, d doer) (bool, error) {
	for {
		if d.Do(ctx) == nil {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(time.Second):
		}
	}
}
func nopeDrainsBehindTheEnd(ctx context.Context, s interface{ Active() int }) {
	<-ctx.Done()
	for s.Active() > 0 {
		time.Sleep(time.Second)
	}
}
func nopeCleanup(ctx context.Context, p string, d doer) error {
	defer func() {
		for range 5 {
			if os.RemoveAll(p) == nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
	return d.Do(ctx)
}
func nopeDetached(ctx context.Context, d doer) (err error) {
	ctx = context.WithoutCancel(ctx)
	for range 5 {
		if err = d.Do(ctx); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}
func nopeWaitsForTheAnswer(c net.Conn, q []byte) (err error) {
	for range 5 {
		if err = ask(c, q); err == nil {
			return nil
		}
	}
	return err
}
func ask(c net.Conn, q []byte) error {
	c.Write(q)
	c.SetReadDeadline(time.Now().Add(time.Second))
	_, err := c.Read(q)
	return err
}
func nopeServesBehind(ctx context.Context, d doer) error {
	for d.Do(ctx) != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	<-ctx.Done()
	return nil
}

func nopeDefault(ctx context.Context, d doer) (string, error) {
	for {
		if d.Do(ctx) == nil {
			return "found", nil
		}
		select {
		case <-ctx.Done():
			return "default", nil
		case <-time.After(time.Second):
		}
	}
}

var stopReason error

func Abort(err error) { stopReason = err }

func nopeErrorAsFlag() error {
	for {
		err := ping()
		if err == nil || stopReason != nil {
			return err
		}
		time.Sleep(time.Second)
	}
}

type spentError struct{ since time.Time }

func (spentError) Error() string { return "tried for too long" }

func (s *service) late() error {
	if time.Since(s.began) > time.Minute {
		return spentError{s.began}
	}
	return ping()
}

func (s *service) nopeLate() error {
	for { // want `retry of late .*RL101; named`
		err := s.late()
		var spent spentError
		if err == nil || errors.As(err, &spent) {
			return err
		}
		time.Sleep(time.Second)
	}
}

// The context before was for something else.
func nopeOtherContext(d doer) error {
	begun, cancel := context.WithTimeout(context.Background(), time.Second)
	err := d.Do(begun)
	cancel()
	if err != nil {
		return err
	}
	for range 600 {
		attempt, cancel := context.WithTimeout(context.Background(), time.Second)
		err = d.Do(attempt)
		cancel()
		if err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func nopeExits(ctx context.Context, d doer) {
	for range 2 {
		if d.Do(ctx) == nil {
			return
		}
		if ctx.Err() != nil {
			time.Sleep(time.Second) // what is logged is to be seen
			os.Exit(1)
		}
	}
}

func nopeInterrupted(path string) error {
	for {
		err := syscall.Mkdir(path, 0o755)
		var errno syscall.Errno
		if !errors.As(err, &errno) || !errno.Temporary() {
			return err
		}
	}
}
