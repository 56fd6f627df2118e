package lookalikes

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

type pinger interface {
	Ping() error
	Step() (done bool, err error)
}

// A flag ends it after five failures.
func nopeFlagCounts(c pinger) {
	ok, n := false, 0
	for !ok {
		err := c.Ping()
		switch {
		case err == nil:
			ok = true
		case n > 4:
			ok = true
		default:
			n++
			time.Sleep(time.Second)
		}
	}
}

func nopeFlagIsLate(c pinger, deadline time.Time) {
	for done := false; !done; {
		if err := c.Ping(); err == nil {
			done = true
			continue
		}
		if time.Now().After(deadline) {
			done = true
			continue
		}
		time.Sleep(time.Second)
	}
}

type addresses struct {
	list []string
	now  string
	i    int
}

func (a *addresses) turn() {
	a.i = (a.i + 1) % len(a.list)
	a.now = a.list[a.i]
}

type dialer struct{ hosts, others addresses }

// The next attempt is made with another host.
func (d *dialer) nopeTurns() net.Conn {
	for { // want `retry of Dial .*RL101; named`
		conn, err := net.Dial("tcp", d.hosts.now)
		if err == nil {
			return conn
		}
		d.hosts.turn()
		time.Sleep(time.Second)
	}
}

// It turns to those that are not asked.
func (d *dialer) turnsOthers() net.Conn {
	for { // want `RL101`
		conn, err := net.Dial("tcp", d.others.now)
		if err == nil {
			return conn
		}
		time.Sleep(time.Second)
	}
}

// It gives up with the error.
func nopeDoneWithTheError(c pinger) error {
	for {
		done, err := c.Step()
		if done {
			return err
		}
		if err != nil {
			log.Print(err)
			time.Sleep(time.Second)
		}
	}
}

// The end of the context is an error, and leaves.
func nopeRequestEnds(ctx context.Context, c *http.Client, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	for {
		resp, err := c.Do(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusServiceUnavailable {
			return resp, nil
		}
		resp.Body.Close()
		time.Sleep(50 * time.Millisecond)
	}
}

type modal struct {
	c    pinger
	mode string
}

func newModal() *modal { return &modal{mode: "run"} }

// Rest puts another in its place.
func (m *modal) Rest() { *m = modal{mode: "rest", c: m.c} }

func (m *modal) nopeReplaced() {
	for m.mode == "run" {
		if err := m.c.Ping(); err == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

var errFatal = errors.New("fatal")

type ring struct{ next, prev *ring }

type filler interface{ Fill(r *ring) error }

// A ring that holds itself.
func nopeRing(c filler) {
	for { // want `retry of Fill .*RL101; named`
		var r ring
		r.next = &r
		if err := c.Fill(&r); err == nil {
			return
		}
		if r.next == &r {
			return
		}
		time.Sleep(time.Second)
	}
}

// Methods of a generic type have type parameters of their own.
type pool[T any] struct {
	item  T
	hosts []string
	host  string
	c     pinger
	ready bool
}

func (p *pool[T]) next() {
	p.host = p.hosts[0]
	p.hosts = append(p.hosts[1:], p.host)
}

func (p *pool[T]) nopeNext() net.Conn {
	for { // want `retry of Dial .*RL101; named`
		conn, err := net.Dial("tcp", p.host)
		if err == nil {
			return conn
		}
		p.next()
		time.Sleep(time.Second)
	}
}

func (p *pool[T]) nopeMarked() {
	for !p.ready {
		if err := p.c.Ping(); err == nil {
			p.ready = true
		}
		time.Sleep(time.Second)
	}
}

// Mark is called by others.
func (p *pool[T]) Mark() { p.ready = true }

func turn(host *string) { *host += "1" }

func (d *dialer) nopeTurnsPart() net.Conn {
	for { // want `retry of Dial .*RL101; named`
		conn, err := net.Dial("tcp", d.hosts.now)
		if err == nil {
			return conn
		}
		turn(&d.hosts.now)
		time.Sleep(time.Second)
	}
}

func nopeShifts(hosts []string) net.Conn {
	for {
		conn, err := net.Dial("tcp", hosts[0])
		if err == nil {
			return conn
		}
		copy(hosts, hosts[1:])
		time.Sleep(time.Second)
	}
}

// ---- others hold the lock ----

type mutexes interface {
	Create(ctx context.Context, key string) error
}

func isThere(err error) bool { return err.Error() == "already exists" }

func tryAcquireLock(m mutexes, key string) error { return m.Create(context.Background(), key) }

func nopeWaitsForLock(m mutexes, key string) error {
	for {
		err := tryAcquireLock(m, key)
		if err == nil {
			return nil
		}
		if !isThere(err) {
			return err
		}
		time.Sleep(time.Second)
	}
}

// Any error is no sign that somebody else has it.
func insistsOnLock(m mutexes, key string) {
	for { // want `RL101`
		if tryAcquireLock(m, key) == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

func blocked(m mutexes, key string) error { return m.Create(context.Background(), key) }

func waitsForBlock(m mutexes, key string) error {
	for { // want `RL101`
		err := blocked(m, key)
		if err == nil {
			return nil
		}
		if !isThere(err) {
			return err
		}
		time.Sleep(time.Second)
	}
}

// ---- the user decides ----

type promptUI struct{ Label string }

func (p promptUI) Run() error { return nil }

func asksWhether(label string) bool { return promptUI{label}.Run() == nil }

func isWorthIt(err error) bool { return err.Error() == "insecure" && asksWhether("go on?") }

func nopeUserDecides(url string) (*http.Response, error) {
	for {
		resp, err := http.Get(url)
		if err == nil {
			return resp, nil
		}
		if !isWorthIt(err) {
			return nil, err
		}
	}
}

// ---- daemons that do the same on and on ----

type stock interface {
	Length(ctx context.Context, of string) (int, error)
	Insert(ctx context.Context) ([]string, error)
}

// A ticker's channel is never closed.
func nopeEmits(ctx context.Context, s stock, emit func(int)) {
	t := time.NewTicker(time.Minute)
	defer t.Stop()
	for range t.C {
		n, err := s.Length(ctx, "x")
		if err != nil {
			log.Print(err)
			continue
		}
		emit(n)
	}
}

type worker struct {
	stopping atomic.Value
	stock    stock
}

func (w *worker) nopeWorks(ctx context.Context) {
	t := time.NewTicker(time.Minute)
	defer t.Stop()
	for {
		if w.stopping.Load().(bool) {
			break
		}
		n, err := w.stock.Length(ctx, "x")
		if err != nil {
			log.Print(err)
		}
		if n == 0 {
			<-t.C
		}
	}
	log.Print("done")
}

// A command ends it, and is told then what went wrong.
func nopeInserts(ctx context.Context, s stock, command <-chan string) error {
	var failed []string
	for {
		select {
		case c := <-command:
			if c == "stop" {
				if len(failed) > 0 {
					return errors.New(failed[0])
				}
				return nil
			}
		default:
			if _, err := s.Insert(ctx); err != nil {
				failed = append(failed, err.Error())
			}
			time.Sleep(time.Second)
		}
	}
}

func creates(ctx context.Context, s stock) bool {
	if _, err := s.Insert(ctx); err != nil {
		log.Print(err)
		return false
	}
	return true
}

// Each failure ends it: it does the same several times over.
func nopeRounds(ctx context.Context, s stock, rounds int) bool {
	for range rounds {
		if !creates(ctx, s) {
			return false
		}
		time.Sleep(time.Second)
	}
	return true
}

// What serves until it is told to stop is done then.
func nopeServes(ctx context.Context, run func(context.Context) error) error {
	for ctx.Err() == nil {
		err := runIt(ctx, run)
		if err == nil {
			return nil
		}
		log.Print(err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	return nil
}

func runIt(ctx context.Context, run func(context.Context) error) error { return run(ctx) }
