package unboundedretry

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// ---- what stops by itself ----

type sentinel struct {
	stop  uint32
	group interface{ Do(func() error) error }
	addrs []string
}

func (s *sentinel) refresh() error {
	return s.group.Do(s.refreshOnce)
}

func (s *sentinel) refreshOnce() error {
	for _, addr := range s.addrs {
		if atomic.LoadUint32(&s.stop) == 1 {
			return nil
		}
		if conn, err := net.Dial("tcp", addr); err == nil {
			return conn.Close()
		}
	}
	return errors.New("no server answers")
}

func (s *sentinel) Stop() { atomic.StoreUint32(&s.stop, 1) }

func (s *sentinel) nopeStops() {
retry:
	if err := s.refresh(); err != nil { // want `retry of refresh .*RL101; named`
		goto retry
	}
}

type stoppable struct {
	addr    string
	closed  bool
	started atomic.Bool
	conn    net.Conn
}

func (l *stoppable) Close() {
	l.closed = true
	l.started.Store(false)
}

func (l *stoppable) dialUnlessClosed() error {
	if l.closed || l.addr == "" {
		return nil
	}
	conn, err := net.Dial("tcp", l.addr)
	l.conn = conn
	return err
}

func (l *stoppable) nopeCloses() {
	for l.dialUnlessClosed() != nil { // want `retry of dialUnlessClosed .*RL101; named`
		time.Sleep(time.Second)
	}
}

func (l *stoppable) dialWhileStarted() error {
	if !l.started.Load() {
		return nil
	}
	conn, err := net.Dial("tcp", l.addr)
	l.conn = conn
	return err
}

func (l *stoppable) nopeEnds() {
	for l.dialWhileStarted() != nil { // want `retry of dialWhileStarted .*RL101; named`
		time.Sleep(time.Second)
	}
}

// A connection that was closed is no reason to stop.
func (l *stoppable) dialWhenClosed() error {
	if !l.closed {
		return nil
	}
	conn, err := net.Dial("tcp", l.addr)
	l.conn = conn
	return err
}

func (l *stoppable) reopens() {
	for l.dialWhenClosed() != nil { // want `retry of dialWhenClosed .*RL101`
		time.Sleep(time.Second)
	}
}

var errStopped = errors.New("stopped")

func nopeIsStopped(c caller) error {
	for {
		err := c.Ping()
		if err == nil || errors.Is(err, errStopped) {
			return err
		}
		time.Sleep(time.Second)
	}
}

func nopeEqualsClosed(c caller) error {
	for {
		err := c.Ping()
		if err == nil || err == net.ErrClosed {
			return err
		}
		time.Sleep(time.Second)
	}
}

func isShutdown(err error) bool { return err.Error() == "shutdown" }

func nopeSaysShutdown(c caller) error {
	for {
		err := c.Ping()
		if err == nil || isShutdown(err) {
			return err
		}
		time.Sleep(time.Second)
	}
}

// Only what is closed is tried again.
func retriesClosed(c caller) error {
	for { // missed
		err := c.Ping()
		if err == nil || !errors.Is(err, net.ErrClosed) {
			return err
		}
		time.Sleep(time.Second)
	}
}

// ---- goroutines whose end is awaited beside something else ----

func givenUp(c caller, timeout time.Duration) error {
	ready := make(chan struct{})
	go func() {
		for { // want `retry of Ping .*RL101`
			if err := c.Ping(); err != nil {
				time.Sleep(time.Second)
				continue
			}
			close(ready)
			return
		}
	}()
	select {
	case <-ready:
		return nil
	case <-time.After(timeout):
		return errors.New("not ready")
	}
}

func nopeSupervised(c caller, stop <-chan os.Signal) error {
	ready := make(chan struct{})
	go func() {
		for { // want `retry of Ping .*RL101; named`
			if err := c.Ping(); err != nil {
				time.Sleep(time.Second)
				continue
			}
			close(ready)
			return
		}
	}()
	select {
	case <-ready:
		return nil
	case <-stop:
		return errors.New("interrupted")
	}
}

func nopeOrEnds(c caller, timeout time.Duration) {
	ready := make(chan struct{})
	go func() {
		for { // want `retry of Ping .*RL101; named`
			if err := c.Ping(); err != nil {
				time.Sleep(time.Second)
				continue
			}
			close(ready)
			return
		}
	}()
	select {
	case <-ready:
	case <-time.After(timeout):
		log.Fatal("not ready")
	}
}

func awaited(c caller) {
	ready := make(chan struct{})
	go func() {
		for { // want `retry of Ping .*RL101`
			if err := c.Ping(); err != nil {
				time.Sleep(time.Second)
				continue
			}
			close(ready)
			return
		}
	}()
	<-ready
}

// ---- another try each time ----

func nopeAnotherPort() net.Listener {
	for {
		n, err := rand.Int(rand.Reader, big.NewInt(1000))
		if err != nil {
			log.Fatal(err)
		}
		listener, err := net.ListenTCP("tcp", &net.TCPAddr{Port: int(n.Int64())})
		if err == nil {
			return listener
		}
	}
}

// Each attempt is asked for.
func nopeAskedFor(c caller, asked <-chan struct{}, events <-chan string, handle func(string)) {
	for { // want `RL101; named`
		select {
		case e := <-events:
			handle(e)
		case <-asked:
			if err := c.Ping(); err == nil {
				return
			}
		}
	}
}

type restarter struct{ stopC chan struct{} }

// It returns nil when somebody has stopped, and an error when it has panicked.
func (w *restarter) recovers(work func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	for {
		select {
		case <-w.stopC:
			return
		case <-time.After(time.Second):
			work()
		}
	}
}

func (w *restarter) nopeRestarts(work func()) {
	for { // want `retry of recovers .*RL101; named`
		if err := w.recovers(work); err == nil {
			return
		}
	}
}

// A SecretPrompt asks the user.
type secretPrompt struct{ label string }

func (p *secretPrompt) run() (string, error) { return askFor(p.label) }

var askFor = func(string) (string, error) { return "", errors.New("closed") }

func nopePrompts(p *secretPrompt) string {
	for {
		text, err := p.run()
		if err != nil {
			log.Print(err)
			continue
		}
		return text
	}
}

// A literal that the goroutine captures passes errors on.
func captured(c caller) {
	ping := func() error { return c.Ping() }
	go func() {
		for { // want `retry of ping .*RL101`
			if err := ping(); err == nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
}

func nopeCapturedCounts(c caller) {
	n := 0
	ping := func() error {
		if n++; n > 10 {
			return nil
		}
		return c.Ping()
	}
	go func() {
		for { // want `retry of ping .*RL101; named`
			if err := ping(); err == nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
}

type fixture struct{ caller }

func (f *fixture) prepare(t *testing.T) { t.Helper() }

// What is given the test may end it, or the clock does.
func nopeGivenTest(t *testing.T, f *fixture) error {
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Second) {
		if _, err := os.ReadFile("state"); err == nil {
			f.prepare(t)
			if f.caller == nil {
				return errors.New("no caller")
			}
			if err = f.Ping(); err == nil {
				return nil
			}
		}
	}
	return errors.New("late")
}

// ---- what follows the loop never returns ----

func nopeServesOn(addr string, serve func(net.Conn)) {
	if addr == "" {
		return
	}
	for {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		for {
			serve(conn)
		}
	}
}

// ---- what an operation only reads ends nothing ----

type Endpoint struct {
	URL  string
	URLs []string
}

func (e *Endpoint) ping() error {
	begun := time.Now()
	_, err := http.DefaultClient.Head(e.URL)
	log.Print(time.Since(begun))
	return err
}

func (e *Endpoint) pingFirst() error {
	_, err := http.Head(e.URLs[0])
	return err
}

func pingsEndpoint(e *Endpoint) {
	for e.ping() != nil { // want `retry of ping .*RL101\)`
		time.Sleep(time.Second)
	}
}

func pingsFirst(e *Endpoint) {
	for e.pingFirst() != nil { // want `retry of pingFirst .*RL101\)`
		time.Sleep(time.Second)
	}
}

type counting struct {
	url   string
	calls int
}

func (c *counting) ping() error {
	c.calls++
	_, err := http.Head(c.url)
	return err
}

func pingsCounting(c *counting) {
	for c.ping() != nil { // want `retry of ping .*RL101\)`
		time.Sleep(time.Second)
	}
}

// Neither case ends the loop.
func doneStays(ctx context.Context, c caller) {
	for { // want `retry of Ping never stops`
		if c.Ping() == nil {
			return
		}
		select {
		case <-ctx.Done():
			break
		case <-time.After(time.Second):
		}
	}
}

// ---- a context for each attempt ----

func canceledEachTime(db *sql.DB) {
	for { // want `retry of PingContext .*different error; .*\(RL101\)$`
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err := db.PingContext(ctx)
		cancel()
		if err == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

func derivedEachTime(parent context.Context, db *sql.DB) {
	for { // want `retry of PingContext .*end of its context; .*RL101, RL104\)$`
		ctx, cancel := context.WithTimeout(parent, time.Second)
		err := db.PingContext(ctx)
		cancel()
		if err == nil {
			return
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

// A function value may repair what fails, whatever the name of its type.
func repairedEachTime(db *sql.DB, repair context.CancelFunc) {
	for { // want `RL101; named`
		err := db.Ping()
		if err == nil {
			return
		}
		repair()
		time.Sleep(time.Second)
	}
}
