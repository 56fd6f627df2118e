package unboundedretry

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

type client interface {
	Call(ctx context.Context, key string) (string, error)
	Ping() error
	Page(ctx context.Context, after int) ([]int, error)
}

var (
	errBusy  = errors.New("busy")
	errStale = errors.New("stale")
)

func transient(err error) bool { return errors.Is(err, errBusy) }

func startup(c client) {
	for { // want `retry of Ping has no attempt limit, deadline or cancellation: .*RL101`
		if err := c.Ping(); err != nil {
			log.Print("waiting")
			time.Sleep(time.Second)
		} else {
			break
		}
	}
}

func condition(c client) {
	for c.Ping() != nil { // want `RL101`
		time.Sleep(time.Second)
	}
}

func classified(c client) error {
	for { // want `RL101`
		_, err := c.Call(context.Background(), "k")
		if err == nil || !transient(err) {
			return err
		}
		if errors.Is(err, io.EOF) || strings.Contains(err.Error(), "gone") {
			return err
		}
		time.Sleep(time.Second)
	}
}

func deadCounter(ctx context.Context, c client, out chan<- int) {
	after, retries := 0, 0
	for { // want `"retries" is counted but never compared`
		page, err := c.Page(ctx, after)
		if err != nil {
			retries++
			log.Print(err, retries)
			time.Sleep(time.Duration(retries) * time.Second)
			continue
		}
		retries = 0
		if len(page) == 0 {
			return
		}
		for _, v := range page {
			out <- v
		}
		after = page[len(page)-1]
	}
}

func gotoSpin(c client) {
again:
	err := c.Ping() // want `RL101`
	if err != nil && !errors.Is(err, errStale) {
		goto again
	}
}

func attemptContext(ctx context.Context, c client) string {
	for { // want `retry of Call`
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		v, err := c.Call(attempt, "k")
		cancel()
		if err == nil {
			return v
		}
	}
}

func dial(addr string) net.Conn {
	for { // want `retry of Dial`
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			log.Println("dial:", err)
			time.Sleep(time.Second)
			continue
		}
		return conn
	}
}

func inGoroutine(c client) {
	go func() {
		for { // want `RL101`
			if c.Ping() == nil {
				return
			}
		}
	}()
}

// The condition of the loop moves only after a success.
func conditionStandsStill(c interface{ Since(time.Time) error }, from, end time.Time) error {
	for from.Before(end) { // want `RL101`
		if err := c.Since(from.Add(time.Minute)); err != nil {
			continue
		}
		if from.IsZero() {
			from = from.Add(time.Hour)
			continue
		}
		return nil
	}
	return nil
}

type selector interface {
	Select(args map[string]any) ([]int, error)
}

func mapArgument(s selector, use func([]int)) {
	after := 0
	for { // want `RL101`
		found, err := s.Select(map[string]any{"after": after, "limit": 1000})
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		if len(found) == 0 {
			break
		}
		use(found)
		after = found[len(found)-1]
	}
}

// ---- what must stay silent ----

func nopeContextArgument(ctx context.Context, c client) error {
	for {
		err := c.Ping()
		if err == nil || !goOn(ctx, err) {
			return err
		}
	}
}

func goOn(ctx context.Context, err error) bool { return ctx.Err() == nil && transient(err) }

type budget struct{ left time.Duration }

func (b *budget) Backoff(err error) error {
	if b.left -= time.Second; b.left < 0 {
		return err
	}
	time.Sleep(time.Second)
	return nil
}

func nopeBudgetParameter(ctx context.Context, c client, b *budget) error {
	for {
		if _, err := c.Call(ctx, "k"); err != nil {
			if err = b.Backoff(err); err != nil {
				return err
			}
			continue
		}
		return nil
	}
}

func nopeCapInBody(c client, maxTries int) error {
	for left := maxTries; ; {
		err := c.Ping()
		left--
		if err == nil || left <= 0 || !transient(err) {
			return err
		}
		time.Sleep(time.Second)
	}
}

func nopeCapInMap(dir string) error {
	seen := map[string]int{}
	for {
		err := os.RemoveAll(dir)
		var pe *os.PathError
		if err == nil || !errors.As(err, &pe) {
			return err
		}
		if seen[pe.Path] == 50 {
			return err
		}
		seen[pe.Path]++
		time.Sleep(100 * time.Millisecond)
	}
}

func nopeOnceFlag(ctx context.Context, c client) error {
	retrying := false
	for {
		_, err := c.Call(ctx, "k")
		if err != nil {
			if !retrying {
				retrying = true
				continue
			}
			return err
		}
		return nil
	}
}

func nopeElapsed(f func() error) error {
	var start time.Time
	next := time.Millisecond
	for {
		err := f()
		if err == nil {
			return nil
		}
		if start.IsZero() {
			start = time.Now()
		} else if time.Since(start)+next >= 2*time.Second {
			return err
		}
		time.Sleep(next)
		next *= 2
	}
}

func nopeElapsedOfMethod(c client) error {
	start := time.Now()
	for {
		err := c.Ping()
		if err == nil || time.Since(start) > time.Minute {
			return err
		}
	}
}

func nopeGrowth(c client) error {
	var backoff time.Duration
	for {
		err := c.Ping()
		if err == nil || !errors.Is(err, errStale) {
			return err
		}
		if backoff >= 15*time.Second {
			return err
		}
		backoff = backoff*12/10 + time.Millisecond
		time.Sleep(backoff)
	}
}

func nopeTimerOutside(path string, stop <-chan struct{}) ([]byte, error) {
	timeout, wait := time.After(time.Minute), time.Second
	for {
		b, err := os.ReadFile(path)
		if err == nil {
			return b, nil
		}
		select {
		case <-time.After(wait):
			wait *= 2
		case <-timeout:
			return nil, err
		case <-stop:
			return nil, err
		}
	}
}

func nopeCountdown(c client, n int) error {
retry:
	err := c.Ping()
	if err != nil {
		n--
		if n <= 0 {
			return err
		}
		time.Sleep(500 * time.Millisecond)
		goto retry
	}
	return nil
}

func nopeSwap(p *atomic.Int64) {
retry:
	old := p.Load()
	if !p.CompareAndSwap(old, old+1) {
		goto retry
	}
}

func nopeDaemon(c client) {
	for {
		if err := c.Ping(); err != nil {
			log.Print(err)
			time.Sleep(30 * time.Second)
		}
	}
}

func nopeAccept(l net.Listener, down *atomic.Bool, out chan<- net.Conn) {
	var d time.Duration
	for {
		conn, err := l.Accept()
		if err != nil {
			if down.Load() {
				return
			}
			d = min(max(2*d, 5*time.Millisecond), time.Second)
			time.Sleep(d)
			continue
		}
		d = 0
		out <- conn
	}
}

func nopePages(ctx context.Context, c client) (all []int, err error) {
	after := 0
	for {
		p, err := c.Page(ctx, after)
		if err != nil {
			return nil, err
		}
		if len(p) == 0 {
			return all, nil
		}
		all, after = append(all, p...), p[len(p)-1]
	}
}

func nopeReceive(r io.Reader, out chan<- []byte) error {
	for {
		b := make([]byte, 512)
		n, err := r.Read(b)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		out <- b[:n]
	}
}

func nopeAlternatives(addrs []string) (net.Conn, error) {
	for i := 0; ; i++ {
		conn, err := net.Dial("tcp", addrs[i%len(addrs)])
		if err == nil {
			return conn, nil
		}
	}
}

func nopeNextName(dir string, name func() string) *os.File {
	for {
		f, err := os.Create(dir + name())
		if err == nil {
			return f
		}
	}
}

func nopeContext(ctx context.Context, c client) error {
	for {
		err := c.Ping()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func nopeRange(c client) error {
	var err error
	for range 10 {
		if err = c.Ping(); err == nil {
			return nil
		}
	}
	return err
}

type server struct{ stopped bool }

func (s *server) nopeStopFlag(c client) {
	for !s.stopped {
		if c.Ping() == nil {
			return
		}
	}
}

func nopeFatal(c client) {
	for {
		err := c.Ping()
		if err == nil {
			return
		}
		log.Fatal(err)
	}
}

func nopeCallerDecides(f func() error) {
	for f() != nil {
		time.Sleep(time.Second)
	}
}

func nopeOtherError(c client, refresh func() error) error {
	for {
		err := c.Ping()
		if err == nil {
			return nil
		}
		if err := refresh(); err != nil {
			return err
		}
	}
}

func nopeDelegate(c client, allowed func(error) bool) error {
	for {
		err := c.Ping()
		if err == nil || !allowed(err) {
			return err
		}
	}
}

func nopeChannel(c client, ticks <-chan time.Time) error {
	for range ticks {
		if err := c.Ping(); err == nil {
			return nil
		}
	}
	return errStale
}

func nopeFragments(r interface{ ReadSlice() ([]byte, error) }) (all []byte) {
	for {
		fragment, err := r.ReadSlice()
		if err == nil {
			return all
		}
		if err != errStale {
			return nil
		}
		all = append(all, fragment...)
	}
}

func nopeSubscription(c interface{ Next(after int) (int, error) }) {
	after := 0
	for {
		last, err := c.Next(after)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		after = last
	}
}
