package recursiveretry

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

func load(name string) []byte {
	b, err := os.ReadFile(name)
	if err != nil {
		log.Print(err)
		time.Sleep(time.Second)
		return load(name) // want `load calls itself after a failure without a limit: use a loop that counts the attempts \(RL113`
	}
	return b
}

type conn struct{ addr string }

func (c *conn) ping() error { return nil }

func (c *conn) open() error {
	_, err := net.Dial("tcp", c.addr)
	return err
}

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

// Nobody asks whether it was the end of the context.
func withContext(ctx context.Context, c caller) error {
	if err := c.Call(ctx); err != nil {
		return withContext(ctx, c) // want `RL113`
	}
	return nil
}

type caller interface {
	Call(ctx context.Context) error
}

// Its callers decide.
func nopeFunction(call func() error) error {
	if err := call(); err != nil {
		return nopeFunction(call)
	}
	return nil
}

func nopeContext(ctx context.Context, call func(context.Context) error) error {
	if err := call(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return nopeContext(ctx, call)
	}
	return nil
}

func nopeContextEnded(ctx context.Context, call func(context.Context) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := call(ctx); err != nil {
		return nopeContextEnded(ctx, call)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func nopeContextAtWait(ctx context.Context, call func(context.Context) error) error {
	if err := call(ctx); err != nil {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		return nopeContextAtWait(ctx, call)
	}
	return nil
}

// What is done before fails when the context has ended, and leaves.
func nopeContextBefore(ctx context.Context, open, call func(context.Context) error) error {
	if err := open(ctx); err != nil {
		return err
	}
	if err := call(ctx); err != nil {
		return nopeContextBefore(ctx, open, call)
	}
	return nil
}

// What is deferred behind the attempt changes nothing.
func tunnel(addr string, serve func(net.Conn)) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		time.Sleep(time.Second)
		tunnel(addr, serve) // want `RL113`
		return
	}
	defer c.Close()
	serve(c)
}

func nopeTunnel(addr string, attempts int, serve func(net.Conn)) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		if attempts > 0 {
			nopeTunnel(addr, attempts-1, serve)
		}
		return
	}
	defer c.Close()
	serve(c)
}

func loadHead(name string) (head []byte) {
	var load func()
	load = func() {
		b, err := os.ReadFile(name)
		if err != nil {
			time.Sleep(time.Second)
			load() // want `the function literal in loadHead calls itself after a failure`
			return
		}
		head = b
	}
	load()
	return head
}

// Each is another.
func nopeLoadNext(names []string) (head []byte) {
	var load func()
	i := -1
	load = func() {
		i++
		b, err := os.ReadFile(names[i])
		if err != nil {
			load()
			return
		}
		head = b
	}
	load()
	return head
}

// It may be set to something else.
func nopeLoadOther(name string, other func()) (head []byte) {
	var load func()
	load = func() {
		b, err := os.ReadFile(name)
		if err != nil {
			load()
			return
		}
		head = b
	}
	if name == "" {
		load = other
	}
	load()
	return head
}

func nopeLoadCounted(name string) (head []byte) {
	var load func(int)
	load = func(attempts int) {
		b, err := os.ReadFile(name)
		if err != nil && attempts > 0 {
			load(attempts - 1)
			return
		}
		head = b
	}
	load(3)
	return head
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

type pgError struct{ Code string }

func (e *pgError) Error() string { return e.Code }

// A conflict is retried at once on purpose.
func nopeSerialized(tx interface{ Run() error }) error {
	if err := tx.Run(); err != nil {
		var pg *pgError
		if errors.As(err, &pg) && pg.Code == "40001" {
			return nopeSerialized(tx)
		}
		return err
	}
	return nil
}

func (c *conn) raced(name string, readonly bool) error {
	args := []string{}
	if readonly {
		args = append(args, "--readonly")
	}
	if err := exec.Command("iscsi", append(args, name)...).Run(); err != nil {
		if strings.Contains(err.Error(), "UNIQUE") {
			log.Print(err)
			time.Sleep(time.Second)
			return c.raced(name, readonly) // want `RL113`
		}
		return err
	}
	return nil
}

// Another name each time.
func (c *conn) nopeOtherName(prefix string) error {
	if err := os.Mkdir(prefix+strconv.Itoa(rand.Int()), 0o777); err != nil {
		if errors.Is(err, os.ErrExist) {
			return c.nopeOtherName(prefix)
		}
		return err
	}
	return nil
}

// It is made first.
func nopeMakesIt(name string) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		if os.IsNotExist(err) && create(name) {
			return nopeMakesIt(name)
		}
		return nil, err
	}
	return b, nil
}

func nopeWrites(name string) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		if os.IsNotExist(err) {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return nil, err
			}
			return nopeWrites(name)
		}
		return nil, err
	}
	return b, nil
}

func create(name string) bool { return os.WriteFile(name, nil, 0o600) == nil }
