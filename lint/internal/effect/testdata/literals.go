package p

import (
	"errors"
	"log"
	"net"
	"time"
)

func captured(addr string) error {
	var conn net.Conn
	n := 0
	dial := func() (err error) {
		if n++; n > 5 {
			return nil
		}
		conn, err = net.Dial("tcp", addr)
		return err
	}
	if err := dial(); err != nil {
		return err
	}
	return conn.Close()
}

// The other goroutine may bring the connection.
func meanwhile(open func() net.Conn) net.Conn {
	var conn net.Conn
	go func() { conn = open() }()
	for conn == nil {
		time.Sleep(1)
	}
	return conn
}

func watchdog(ping func() error) {
	time.AfterFunc(time.Minute, func() { log.Fatal("late") })
	for ping() != nil {
	}
}

// The function around the goroutine may end the program.
func awaited(ping func() error, timeout time.Duration) {
	ready := make(chan int)
	go func() {
		for ping() != nil {
		}
		close(ready)
	}()
	select {
	case <-ready:
	case <-time.After(timeout):
		log.Fatal("late")
	}
}

func recursive(n int) (sum int) {
	var visit func(int)
	visit = func(n int) {
		if n > 0 {
			sum += n
			visit(n - 1)
		}
	}
	visit(n)
	return sum
}

type group struct{ stop bool }

func (g *group) run() error {
	return g.do(func() error {
		if g.stop {
			return nil
		}
		return errors.New("x")
	})
}

func (g *group) do(f func() error) error { return f() }
func (g *group) Stop()                   { g.stop = true }
