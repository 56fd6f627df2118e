package unboundedretry

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
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
	for { // want `retry of Join .*RL101`
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

func reaches(c client, n int) {
	for done := 0; done < n; { // want `retry of Ping .*RL101`
		if err := c.Ping(); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			continue
		}
		done++
	}
}

func nopeCountsFailures(c client, n int) {
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
	for config.HardSync && rd.mustSync { // want `retry of Sync .*RL101`
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
	for rd.mustSync {
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
	for {
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

func nopeFailsTest(c client, require interface{ FailNowf(string, ...any) }) {
	deadline := time.Now().Add(time.Minute)
	for {
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
	for { // want `retry of Dial .*RL101`
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
	for {
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
