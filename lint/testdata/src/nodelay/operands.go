package nodelay

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
)

var mu sync.Mutex

func LOG_INFO(format string, v ...any) {
	mu.Lock()
	defer mu.Unlock()
	wait(log.Printf, format, v...)
}

func wait(f func(string, ...any), format string, v ...any) { f(format, v...) }

func addresses() (all []string) {
	addrs, _ := net.InterfaceAddrs()
	for _, addr := range addrs {
		all = append(all, addr.String())
	}
	return all
}

type excluder interface {
	Rent(ctx context.Context, but []string) (string, error)
}

func name(n int) string { return fmt.Sprint("pod-", os.Getpid(), "-", n) }

// Another name is another thing.
func nopeNames(ctx context.Context, c client) (err error) {
	for i := range 15 {
		if _, err = c.Call(ctx, name(i)); err == nil {
			break
		}
	}
	return err
}

func nopeNextRequests(c *http.Client, nextRequest func() (*http.Request, error)) (*http.Response, error) {
	var last error
	for attempt := 0; attempt < 5; attempt++ {
		req, err := nextRequest()
		if err != nil {
			return nil, err
		}
		resp, err := c.Do(req)
		if err != nil {
			last = err
			continue
		}
		return resp, nil
	}
	return nil, last
}

type reconnector struct {
	ctx  func() context.Context
	dial func(context.Context) (net.Conn, error)
}

func (r *reconnector) reconnect() error {
	ctx := r.ctx()
	select {
	case <-ctx.Done():
		return nil
	default:
	}
	conn, err := net.Dial("tcp", "localhost:1")
	if err != nil {
		return err
	}
	return conn.Close()
}

// That it gives up in the end is no delay.
func hotUntil(r *reconnector) {
	for err := r.reconnect(); err != nil; err = r.reconnect() { // want `reconnect is retried without a wait`
		select {
		case <-r.ctx().Done():
			return
		default:
			log.Print(err)
		}
	}
}

type network struct {
	octet  int
	client client
}

func pick() int { return 7 }

// Another number each time.
func nopeAnother(ctx context.Context, n *network) (name string, err error) {
	open := func() (string, error) { return n.client.Call(ctx, fmt.Sprint(n.octet)) }
	name, err = open()
	for retries := 0; err != nil && retries < 9; retries++ {
		n.octet = pick()
		name, err = open()
	}
	return name, err
}

func nopeForTest(ctx context.Context, t *testing.T, c client) (err error) {
	for range 5 {
		if _, err = c.Call(ctx, "k"); err == nil {
			break
		}
	}
	return err
}

type streams interface {
	Stream(ctx context.Context, id string) (func() error, error)
}

// What failed for all of them ends it.
func nopeRounds(ctx context.Context, servers []client) error {
	var last error
	for attempts := 0; attempts < 5; attempts++ {
		for _, s := range servers {
			if _, err := s.Call(ctx, "k"); err != nil {
				last = err
				continue
			}
			return nil
		}
		if last != nil {
			break
		}
	}
	return last
}
