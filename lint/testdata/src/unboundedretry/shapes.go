package unboundedretry

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

type state struct{ term int }

type store interface {
	Snapshot(s *state) error
	Sync() error
}

type node struct {
	store store
	state *state
	pool  *pool
	jobs  []int
}

func (n *node) current() *state { return n.state }

func (n *node) nextState() *state { n.jobs = n.jobs[1:]; return n.state }

type pool struct{ conns []net.Conn }

func (p *pool) Get() net.Conn { return p.conns[0] }

// ---- what is got from the same object ----

func (n *node) snapshots() {
	for { // want `retry of Snapshot .*RL101`
		if err := n.store.Snapshot(n.current()); err == nil {
			break
		}
		log.Print("again")
	}
}

func (n *node) nopeNext() {
	for {
		if err := n.store.Snapshot(n.nextState()); err == nil {
			break
		}
	}
}

func (n *node) joins(ctx context.Context, join func(net.Conn) interface{ Join(context.Context) error }) {
	timeout := time.Second
	for { // want `retry of Join .*RL101, RL104; library`
		c := newJoiner(n.pool.Get())
		attempt, cancel := context.WithTimeout(ctx, timeout)
		err := c.Join(attempt)
		cancel()
		if err == nil {
			return
		}
		log.Print(err)
		timeout = min(2*timeout, time.Minute)
		time.Sleep(timeout) // want `RL102`
	}
}

type joiner struct{ conn net.Conn }

func newJoiner(conn net.Conn) *joiner { return &joiner{conn} }

func (j *joiner) Join(context.Context) error { return j.conn.Close() }

// ---- so many successes are to be reached ----

func reaches(c caller, n int) {
	for done := 0; done < n; { // missed
		if err := c.Ping(); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			continue
		}
		done++
	}
}

func nopeCountsFailures(c caller, n int) {
	for done := 0; done < n; {
		if err := c.Ping(); err != nil {
			log.Print(err)
			done++
			time.Sleep(time.Second)
			continue
		}
		done++
	}
}

// ---- settings ----

type diskConfig struct{ HardSync bool }

var config diskConfig

type ready struct {
	mustSync bool
	changed  chan struct{}
}

func (n *node) syncs(incoming <-chan ready) {
	rd := <-incoming
	for config.HardSync && rd.mustSync { // missed
		if err := n.store.Sync(); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			continue
		}
		break
	}
}

func (n *node) nopeFlagHandedOn(watch func(*bool)) {
	rd := ready{mustSync: true}
	watch(&rd.mustSync)
	for rd.mustSync { // want `retry of Sync .*RL101; named`
		if err := n.store.Sync(); err != nil {
			time.Sleep(time.Second)
			continue
		}
		break
	}
}

// ---- what only looks like it ----

type caused struct{ cause error }

func (c caused) Cause() error { return c.cause }

func nopeCauses(err error) error {
	for err != nil {
		var c interface{ Cause() error }
		if !errors.As(err, &c) {
			break
		}
		err = c.Cause()
	}
	return err
}

type listener struct{ net.Listener }

func (l *listener) nopeAccept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			var ne net.Error
			if errors.As(err, &ne) && ne.Timeout() {
				time.Sleep(time.Second)
				continue
			}
			return nil, err
		}
		return conn, nil
	}
}

// A registration is renewed for as long as it is accepted.
func nopeRenews(url string) {
	for { // want `retry of Post .*RL101; named`
		resp, err := http.Post(url, "text/plain", nil)
		if err != nil {
			log.Print(err)
			time.Sleep(time.Minute)
			continue
		}
		resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusOK:
			time.Sleep(time.Hour)
			continue
		case http.StatusInternalServerError:
			time.Sleep(time.Minute)
			continue
		}
		return
	}
}

func nopeFailsTest(c caller, require interface{ FailNowf(string, ...any) }) {
	deadline := time.Now().Add(time.Minute)
	for { // want `retry of Ping .*RL101; named`
		if time.Now().After(deadline) {
			require.FailNowf("too late")
		}
		if c.Ping() == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// ---- what is asked for anew ----

type registry interface {
	Find(name string) (addr string, err error)
	Next() (addr string, err error)
}

func (n *node) joinsWhatIsFound(d registry, join func(string) interface{ Join() error }) {
	addr, err := d.Find("leader")
	for { // missed
		conn, failed := net.Dial("tcp", addr)
		if failed == nil {
			conn.Close()
			break
		}
		log.Print(failed)
		time.Sleep(time.Second)
		if addr, err = d.Find("leader"); err != nil {
			log.Print(err)
		}
	}
}

func nopeTriesOthers(d registry) {
	for {
		addr, err := d.Next()
		if err != nil {
			return
		}
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return
		}
		time.Sleep(time.Second)
	}
}

func nopeSearches(d registry) net.Conn {
	for { // want `retry of Dial .*RL101; named`
		addr, _ := d.Find("any")
		if conn, err := net.Dial("tcp", addr); err == nil {
			return conn
		}
	}
}

func nopeReceived(addrs <-chan string) {
	for {
		conn, err := net.Dial("tcp", <-addrs)
		if err != nil {
			log.Print(err)
			continue
		}
		conn.Close()
		return
	}
}

// The request is made of the same in each round: it fails always, or never.
func posts(c *http.Client, url, text string) {
	for { // want `retry of Do never stops`
		req, err := http.NewRequest("POST", url, strings.NewReader(text))
		if err != nil {
			return
		}
		resp, err := c.Do(req)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		resp.Body.Close()
		return
	}
}

// The body is made anew of the same text.
func flushes(s *sender, req *http.Request, text string) {
	for { // missed
		if err := s.flush(req); err == nil {
			return
		}
		time.Sleep(time.Second)
		req.Body = io.NopCloser(strings.NewReader(text))
	}
}

type sender struct {
	c    *http.Client
	open func() (net.Conn, error)
}

func newSender(c *http.Client, addr string) *sender {
	return &sender{c: c, open: func() (net.Conn, error) { return net.Dial("tcp", addr) }}
}

func (s *sender) flush(req *http.Request) error {
	resp, err := s.c.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// The field holds a function that keeps nothing. There is no connection until it succeeds.
func (s *sender) opens() net.Conn {
	var conn net.Conn
	for conn == nil { // want `retry of open never stops`
		var err error
		if conn, err = s.open(); err != nil {
			time.Sleep(time.Second)
			conn = nil
		}
	}
	return conn
}

// A field may hold a method with its receiver.
func bound(s *sender) *opener { return &opener{open: s.opens} }

type opener struct{ open func() net.Conn }

func boundError(s *sender) *flusher { return &flusher{flush: s.flush} }

type flusher struct {
	flush func(*http.Request) error
}

func (f *flusher) flushes(req *http.Request) {
	for { // want `retry of flush never stops`
		if err := f.flush(req); err == nil {
			return
		}
		time.Sleep(time.Second) // want `after req.Context\(\) has ended.*RL102`
	}
}

// A closure that is only called shares the connection with what made it.
func (s *sender) writes(texts <-chan []byte, addr string) {
	var conn net.Conn
	var err error
	var checks sync.WaitGroup
	assure := func() {
		for conn == nil { // missed
			time.Sleep(time.Second)
			if conn, err = net.Dial("tcp", addr); err == nil {
				checks.Add(1)
				go s.check(conn, &checks)
			}
		}
	}
	for text := range texts {
		assure()
		if _, err = conn.Write(text); err != nil {
			conn.Close()
			checks.Wait()
			conn = nil
		}
	}
}

func (s *sender) check(conn net.Conn, checks *sync.WaitGroup) { defer checks.Done() }

// The other runs beside it, and may bring the connection.
func nopeBrought(s *sender, addr string) {
	var conn net.Conn
	go func() { conn, _ = s.open() }()
	for conn == nil {
		time.Sleep(time.Second)
		var err error
		if conn, err = net.Dial("tcp", addr); err == nil {
			return
		}
	}
}

// A closure that assigns to nothing is as good as a function.
func fetchesOnTick(url string) string {
	fetch := func() (string, error) {
		resp, err := http.Get(url)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return "", errors.New(resp.Status)
		}
		return resp.Status, nil
	}
	text := ""
	for range time.NewTicker(time.Second).C { // want `retry of a .*RL101`
		var err error
		if text, err = fetch(); err != nil {
			log.Print(err)
			continue
		}
		break
	}
	return text
}

func nopeCountsInClosure(url string) string {
	tries := 0
	fetch := func() (string, error) {
		if tries++; tries > 5 {
			return "", nil
		}
		resp, err := http.Get(url)
		if err != nil {
			return "", err
		}
		return resp.Status, resp.Body.Close()
	}
	for { // want `retry of a .*RL101; named`
		if text, err := fetch(); err == nil {
			return text
		}
		time.Sleep(time.Second)
	}
}

func IsNotFound(err error) bool { return errors.Is(err, os.ErrNotExist) }

// One error ends it, and that of the context is another.
func findsOut(ctx context.Context, c caller) bool {
	for { // want `retry of Call .*RL101; named`
		_, err := c.Call(ctx, "k")
		if err == nil {
			return true
		}
		if IsNotFound(err) {
			return false
		}
		time.Sleep(time.Second) // want `RL102`
	}
}
