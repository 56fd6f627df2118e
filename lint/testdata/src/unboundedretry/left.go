package unboundedretry

import (
	"errors"
	"log"
	"net"
	"sync"
	"time"
)

// ---- what is left out after a failure ----

var errNoHost = errors.New("no host")

type guest struct {
	addr string
	mu   sync.Mutex
}

func (g *guest) ip() (string, error) {
	conn, err := net.Dial("udp", g.addr)
	if err != nil {
		return "", err
	}
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if err != nil {
		return "", errNoHost
	}
	return host, nil
}

// The error is dropped, and no text says the same.
func (g *guest) waitForIP() string {
	for { // want `retry of ip .*RL101`
		if ip, _ := g.ip(); ip != "" {
			return ip
		}
		time.Sleep(time.Second)
	}
}

func open(addr string) net.Conn {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		log.Print(err)
		return nil
	}
	return conn
}

func opens(addr string) net.Conn {
	for { // want `retry of open .*RL101`
		conn := open(addr)
		if conn != nil {
			return conn
		}
		time.Sleep(time.Second)
	}
}

func opensAsLongAs(addr string) (conn net.Conn) {
	for conn == nil { // want `retry of open .*RL101`
		conn = open(addr)
	}
	return conn
}

// It may be known to be none, and then no failure.
func find(names map[string]net.Conn, name string) net.Conn {
	if names == nil {
		return nil
	}
	conn, err := net.Dial("tcp", name)
	if err != nil {
		return nil
	}
	return conn
}

func nopeFinds(names map[string]net.Conn, name string) net.Conn {
	for {
		if conn := find(names, name); conn != nil {
			return conn
		}
		time.Sleep(time.Second)
	}
}

func nopeOpensSometimes(addr string) (conn net.Conn) {
	for range 3 {
		if conn = open(addr); conn != nil {
			return conn
		}
		time.Sleep(time.Second)
	}
	return nil
}

// ---- a literal that a goroutine shares ----

func sharedLiteral(addrs []string, use func(net.Conn)) {
	connect := func(addr string) bool {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return false
		}
		use(conn)
		return true
	}
	for _, addr := range addrs {
		if connect(addr) {
			continue
		}
		go func() {
			for { // missed
				time.Sleep(3 * time.Second)
				if connect(addr) {
					return
				}
			}
		}()
	}
}

// ---- each of several, again and again ----

func anyOf(addrs []string) (net.Conn, error) {
	for { // missed
		for _, addr := range addrs {
			conn, err := net.Dial("tcp", addr)
			if err == nil {
				return conn, nil
			}
			log.Print(err)
		}
		time.Sleep(time.Second)
	}
}

func anyOfNames(addrs map[string]string) (net.Conn, error) {
	for { // missed
		for name, addr := range addrs {
			conn, err := net.Dial("tcp", addr)
			if err == nil {
				return conn, nil
			}
			log.Print(name, err)
		}
		time.Sleep(time.Second)
	}
}

func nopeAnyOfOnce(addrs []string) (conn net.Conn, err error) {
	for _, addr := range addrs {
		if conn, err = net.Dial("tcp", addr); err == nil {
			break
		}
	}
	return conn, err
}

func nopeAnyOfSomeRounds(addrs []string) (conn net.Conn, err error) {
	for range 5 {
		for _, addr := range addrs {
			if conn, err = net.Dial("tcp", addr); err == nil {
				return conn, nil
			}
		}
		time.Sleep(time.Second)
	}
	return nil, err
}

// What is to do next is asked for in each round.
func nopeServes(next func() []string, handle func(net.Conn)) {
	for {
		for _, addr := range next() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				continue
			}
			handle(conn)
			return
		}
		time.Sleep(time.Second)
	}
}

// ---- what a failure counts from the first again ----

type host interface{ Active() (string, error) }

func settles(h host) {
	const most = 3
	quiet := 0
	for { // want `retry of Active .*RL101`
		task, err := h.Active()
		if err != nil {
			quiet = 0
			log.Print(err)
			continue
		}
		if task == "" {
			if quiet == most {
				break
			}
			quiet++
		} else {
			quiet = 0
		}
		time.Sleep(2 * time.Second)
	}
}

// ---- one type of errors ----

type recoverable struct{ error }

func ofType(g *guest) {
	for { // want `retry of write .*RL101`
		time.Sleep(time.Second)
		err := g.write()
		if _, again := errors.AsType[recoverable](err); !again {
			break
		}
	}
}

func (g *guest) write() error {
	conn, err := net.Dial("tcp", g.addr)
	if err != nil {
		return recoverable{err}
	}
	return conn.Close()
}
