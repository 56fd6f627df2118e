package recursiveretry

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"time"
)

func load(name string) []byte {
	b, err := os.ReadFile(name)
	if err != nil {
		log.Print(err)
		time.Sleep(time.Second)
		return load(name) // want `load calls itself again after every failure, without a limit: count the attempts in a loop \(RL113\)`
	}
	return b
}

type conn struct{ addr string }

func (c *conn) ping() error { return nil }
func (c *conn) open() error { return nil }

func (c *conn) wait(name string) error {
	if err := c.ping(); err != nil {
		time.Sleep(time.Second)
		return c.wait(name) // want `RL113`
	}
	return nil
}

func nopeCounts(name string, attempts int) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err != nil && attempts > 1 {
		return nopeCounts(name, attempts-1)
	}
	return b, err
}

func (c *conn) nopePutsRight(name string) error {
	if err := c.ping(); err != nil {
		if err := c.open(); err != nil {
			return err
		}
		return c.nopePutsRight(name)
	}
	return nil
}

func (c *conn) nopeChanges(name string) error {
	if err := c.ping(); err != nil {
		c.addr = name
		return c.nopeChanges(name)
	}
	return nil
}

func nopeContext(ctx context.Context, call func(context.Context) error) error {
	if err := call(ctx); err != nil {
		return nopeContext(ctx, call)
	}
	return nil
}

func nopeOneError(name string) error {
	err := os.Mkdir(name, 0o777)
	if errors.Is(err, os.ErrNotExist) {
		return nopeOneError(name)
	}
	return err
}

type node struct{ next *node }

func nopeWalk(n *node, visit func(*node) error) error {
	if err := visit(n); err != nil {
		return nopeWalk(n.next, visit)
	}
	return nil
}

// The count only makes the wait longer.
func (c *conn) reconnect(backoff int, name string) error {
	time.Sleep(time.Duration(min(backoff, 15)) * time.Second)
	err := c.ping()
	if errors.Is(err, os.ErrNotExist) {
		return err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return c.reconnect(backoff+1, name) // want `RL113`
	}
	return nil
}

func (c *conn) nopeReconnect(attempt int, name string) error {
	time.Sleep(time.Second)
	err := c.ping()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if attempt == 5 {
			return err
		}
		return c.nopeReconnect(attempt+1, name)
	}
	return nil
}

// The number is what is tried.
func nopePort(port int) (net.Listener, error) {
	l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return nopePort(port + 1)
	}
	return l, nil
}

func (c *conn) nopePages(page int, get func(int) error) error {
	if err := get(page); err != nil {
		return c.nopePages(page+1, get)
	}
	return nil
}

// Without anything to tell it is the same each time.
func dialHome() error {
	if _, err := net.Dial("tcp", "home:80"); err != nil {
		return dialHome() // want `RL113`
	}
	return nil
}

type socket struct {
	interval time.Duration
	addr     string
}

func newSocket(addr string) *socket { return &socket{interval: time.Second, addr: addr} }

// Whether it is to try again, a setting says.
func (s *socket) connect(to string) {
	conn, err := net.Dial("tcp", to)
	if err != nil {
		if s.interval != 0 {
			time.Sleep(s.interval)
			s.connect(to) // want `RL113`
		}
		return
	}
	conn.Close()
}

// What stands before is done whatever it asks.
func (s *socket) named(to, token string) {
	if token != "" {
		to += "?" + token
	}
	conn, err := net.Dial("tcp", to)
	if err != nil {
		log.Print(err)
		s.named(to, token)
		return
	}
	conn.Close()
}

func (s *socket) attached(to, token string) {
	user := "nobody"
	if token != "" {
		user = token
	}
	conn, err := net.Dial("tcp", to)
	if err != nil {
		log.Print(user, err)
		s.attached(to, token) // want `RL113`
		return
	}
	conn.Close()
}

func (s *socket) nopeStopped(to string, stopped func() bool) {
	if stopped() {
		return
	}
	conn, err := net.Dial("tcp", to)
	if err != nil {
		s.nopeStopped(to, stopped)
		return
	}
	conn.Close()
}
