// Package hotloop has daemons: loops that go on whatever an operation returns.
package hotloop

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// A client leaves the process.
type client struct{ http *http.Client }

func (c client) jobs(ctx context.Context) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/jobs", nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	return []string{resp.Status}, resp.Body.Close()
}

func start([]string) {}

// The failing path passes by the wait at the end.
func skipped(ctx context.Context, c client) {
	for {
		jobs, err := c.jobs(ctx) // want `a failure of jobs skips the wait at line 43, so the loop spins while it fails`
		if err != nil {
			log.Print(err)
			continue
		}
		start(jobs)
		time.Sleep(time.Minute)
	}
}

// A ticker at the end is a wait as well.
func skippedTick(ctx context.Context, c client) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		jobs, err := c.jobs(ctx) // want `a failure of jobs skips the wait at line 58`
		if err != nil {
			fmt.Println(err)
			continue
		}
		start(jobs)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// The end of the context ends the loop, but not the spinning before.
func skippedUntilEnd(ctx context.Context, c client) {
	for ctx.Err() == nil {
		jobs, err := c.jobs(ctx) // want `a failure of jobs skips the wait`
		if err == nil {
			start(jobs)
			time.Sleep(time.Minute)
		}
	}
}

// A process that cannot be started fails at once.
func skippedProcess() {
	for {
		out, err := exec.Command("sensors").Output() // want `a failure of Output skips the wait`
		if err != nil {
			log.Print(err)
			continue
		}
		log.Printf("%s", out)
		time.Sleep(time.Second)
	}
}

// All paths wait.
func nopeWaits(ctx context.Context, c client) {
	for {
		jobs, err := c.jobs(ctx)
		if err != nil {
			log.Print(err)
			time.Sleep(time.Second) // want `this wait continues after ctx has ended`
			continue
		}
		start(jobs)
		time.Sleep(time.Minute)
	}
}

// It waits where the iteration begins.
func nopeWaitsFirst(ctx context.Context, c client) {
	for range time.Tick(time.Minute) {
		jobs, err := c.jobs(ctx)
		if err != nil {
			log.Print(err)
			continue
		}
		start(jobs)
	}
}

// A helper waits after a failure.
func (c client) failed(err error) {
	log.Print(err)
	time.Sleep(time.Second)
}

func nopeHelperWaits(ctx context.Context, c client) {
	for {
		jobs, err := c.jobs(ctx)
		if err != nil {
			c.failed(err) // want `this wait continues after ctx has ended`
			continue
		}
		start(jobs)
		time.Sleep(time.Minute)
	}
}

// It is not known whether a function value waits.
func nopeMayWait(ctx context.Context, c client, failed func(error)) {
	for {
		jobs, err := c.jobs(ctx)
		if err != nil {
			failed(err)
			continue
		}
		start(jobs)
		time.Sleep(time.Minute)
	}
}

// Each iteration takes the next item first.
func nopeItems(ctx context.Context, c client, items <-chan string) {
	for range items {
		jobs, err := c.jobs(ctx)
		if err != nil {
			log.Print(err)
			continue
		}
		start(jobs)
		time.Sleep(time.Second)
	}
}

// Five failures are not many.
func nopeBounded(ctx context.Context, c client) {
	for range 5 {
		jobs, err := c.jobs(ctx)
		if err != nil {
			log.Print(err)
			continue
		}
		start(jobs)
		time.Sleep(time.Second)
	}
}

// Any error ends the loop.
func nopeLeaves(ctx context.Context, c client) error {
	for {
		jobs, err := c.jobs(ctx)
		if err != nil {
			return err
		}
		start(jobs)
		time.Sleep(time.Minute)
	}
}

// The third failure waits.
func nopeCounts(ctx context.Context, c client) {
	failures := 0
	for {
		jobs, err := c.jobs(ctx)
		if err != nil {
			if failures++; failures > 2 {
				time.Sleep(time.Second) // want `this wait continues after ctx has ended`
			}
			continue
		}
		failures = 0
		start(jobs)
		time.Sleep(time.Minute)
	}
}

// A test of load does not wait after a success either.
func nopeLoad(ctx context.Context, c client) {
	failures := 0
	for {
		if _, err := c.jobs(ctx); err != nil {
			failures++
			log.Print(failures)
		}
	}
}

// A closed listener fails for ever.
func accepts(l net.Listener) {
	for {
		conn, err := l.Accept() // want `Accept fails at once each time after it has failed for good`
		if err != nil {
			log.Print(err)
			continue
		}
		go serve(conn)
	}
}

func serve(conn net.Conn) { conn.Close() }

// Who closes the listener ends the loop.
func nopeAcceptsUntil(l net.Listener, stop <-chan struct{}) {
	for {
		conn, err := l.Accept() // want `Accept blocks only while it succeeds, so the loop spins while it fails`
		if err != nil {
			select {
			case <-stop:
				return
			default:
				log.Print(err)
				continue
			}
		}
		go serve(conn)
	}
}

func nopeAcceptsUntilFlag(l net.Listener, stopped *atomic.Bool) {
	for !stopped.Load() {
		conn, err := l.Accept() // want `Accept blocks only while it succeeds, so the loop spins while it fails`
		if err != nil {
			log.Print(err)
			continue
		}
		go serve(conn)
	}
}

// It knows the error that lasts.
func nopeAcceptsUntilClosed(l net.Listener) {
	for {
		conn, err := l.Accept() // want `Accept blocks only while it succeeds, so the loop spins while it fails`
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			log.Print(err)
			continue
		}
		go serve(conn)
	}
}

// Timeouts alone are repeated.
func nopeTemporary(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				continue
			}
			return err
		}
		go serve(conn)
	}
}

// The wait before the deadline is the wait.
func nopeDeadline(conn net.Conn) {
	buf := make([]byte, 1500)
	for {
		conn.SetReadDeadline(time.Now().Add(time.Second))
		n, err := conn.Read(buf)
		if err != nil {
			log.Print(err)
			continue
		}
		log.Print(n)
	}
}

// A connection that has been closed has nothing more to read.
func reads(conn net.Conn) {
	buf := make([]byte, 1500)
	for {
		n, err := conn.Read(buf) // want `Read fails at once each time after it has failed for good`
		if err != nil {
			log.Print(err)
			continue
		}
		log.Print(n)
	}
}

// What is asked is another after a failure.
func nopeReconnects(addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	buf := make([]byte, 1500)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			if conn, err = net.Dial("tcp", addr); err != nil {
				return
			}
			continue
		}
		log.Print(n)
	}
}

// By its name, it blocks.
type queue interface {
	Receive(ctx context.Context) (string, error)
}

func nopeReceives(ctx context.Context, q queue) {
	for {
		item, err := q.Receive(ctx) // want `a failure of Receive skips the wait`
		if err != nil {
			log.Print(err)
			continue
		}
		log.Print(item)
		time.Sleep(time.Second)
	}
}

// A status of 503 skips the wait, and an error does not.
func skippedByStatus(url string) {
	for {
		resp, err := http.Get(url) // want `a failure of Get skips the wait at line \d+, so the loop spins while it fails`
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			log.Print(resp.Status)
			continue
		}
		time.Sleep(time.Minute)
	}
}

func nopeStatusWaits(url string) {
	for {
		resp, err := http.Get(url)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			log.Print(resp.Status)
		}
		time.Sleep(time.Minute)
	}
}

// By its name it blocks until there is an item.
func nopeReceivesByName(ctx context.Context, q queue) {
	for ctx.Err() == nil {
		item, err := q.Receive(ctx) // want `Receive blocks only while it succeeds.*RL115; named`
		if err != nil {
			log.Print(err)
			continue
		}
		log.Print(item)
	}
}

// A file that cannot be read is read again at once.
func reloads(path string, every time.Duration, apply func([]byte)) {
	ticker := time.NewTicker(every)
	for {
		text, err := os.ReadFile(path) // want `a failure of ReadFile skips the wait at line \d+.* \(RL115; library\)`
		if err != nil {
			log.Print(err)
			continue
		}
		apply(text)
		<-ticker.C
	}
}
