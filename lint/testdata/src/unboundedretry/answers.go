package unboundedretry

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// ---- a field that only a success sets ----

type device struct {
	addr   string
	conn   net.Conn
	up     bool
	halted bool
}

func (d *device) setsConn() {
	for d.conn == nil { // want `retry of Dial .*RL101`
		conn, err := net.Dial("tcp", d.addr)
		if err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			continue
		}
		d.conn = conn
	}
}

func (d *device) open() error {
	if _, err := os.Stat(d.addr); err != nil {
		return err
	}
	d.up = true
	return nil
}

func (d *device) close() { d.up, d.conn = false, nil }

func (d *device) opens() {
	for !d.up { // missed
		if err := d.open(); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
		}
	}
}

func (d *device) halt() { d.halted = true }

func (d *device) nopeHaltedByAnother() {
	for !d.halted {
		if err := d.open(); err != nil {
			time.Sleep(time.Second)
			continue
		}
		d.halted = true
	}
}

type service struct{ running bool }

func (s *service) start() error {
	if _, err := os.Stat("s"); err != nil {
		return err
	}
	s.running = true
	return nil
}

func (s *service) stop() { s.running = false }

func (s *service) nopeStopped() {
	for s.running {
		if err := s.start(); err != nil {
			time.Sleep(time.Second)
		}
	}
}

type dialer struct {
	addr          string
	strict, ended bool
}

func newDialer(addr string, strict bool) *dialer {
	d := dialer{addr: addr}
	d.strict = strict
	return &d
}

func (d *dialer) end() { d.ended = true }

// A setting is the same in every round.
func (d *dialer) settled() {
	for { // want `retry of Dial .*RL101`
		_, err := net.Dial("tcp", d.addr)
		if err == nil {
			return
		}
		if d.strict {
			log.Fatal(err)
		}
		time.Sleep(time.Second)
	}
}

func (d *dialer) nopeEnded() {
	for {
		_, err := net.Dial("tcp", d.addr)
		if err == nil || d.ended {
			return
		}
		time.Sleep(time.Second)
	}
}

// ---- a success that is given as a bool ----

func register(c caller) bool {
	if err := c.Ping(); err != nil {
		log.Print(err)
		return false
	}
	return true
}

func boolSaysFailure(c caller) {
	for !register(c) { // want `retry of register .*RL101`
		time.Sleep(time.Second)
	}
}

func send(c caller) (sent bool) {
	err := c.Ping()
	return err == nil
}

func boolOfError(c caller) {
	for { // want `retry of send .*RL101`
		if ok := send(c); ok {
			return
		}
		time.Sleep(time.Second)
	}
}

// Whether something is there is asked, not tried.
func isReachable(c caller) bool { return c.Ping() == nil }

func nopePredicate(c caller) {
	for !isReachable(c) {
		time.Sleep(time.Second)
	}
}

var turn int

func takeTurn() bool {
	turn++
	return turn > 5
}

func nopeFalseIsNoFailure() {
	for !takeTurn() {
		time.Sleep(time.Second)
	}
}

type ticket interface {
	Wait() bool
	Error() error
}

type broker interface {
	Connect() ticket
	Subscribe(topic string, handle func(string)) ticket
}

func errorOfTicket(b broker) {
	for { // missed
		if t := b.Connect(); t.Wait() && t.Error() != nil {
			log.Print(t.Error())
			time.Sleep(time.Second)
		} else {
			break
		}
	}
}

func ticketOfSubscription(b broker, handle func(string)) {
	for { // missed
		if t := b.Subscribe("all", handle); t.Wait() && t.Error() != nil {
			time.Sleep(time.Second)
			continue
		}
		break
	}
}

// The connection is there if and only if there was no error.
func asksForObject(addr string) {
	for { // want `retry of Dial .*RL101`
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			log.Print(err)
			time.Sleep(time.Second)
		}
		if conn != nil {
			return
		}
	}
}

// ---- polls that take errors for another answer ----

func status(url string) {
	for { // want `retry of Get .*RL101`
		resp, err := http.Get(url)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			break
		}
		log.Print(resp.StatusCode)
		time.Sleep(time.Second)
	}
}

func answer(ctx context.Context, c caller) {
	for { // want `retry of Call .*RL101, RL104`
		v, err := c.Call(ctx, "k")
		if err == nil && v == "done" {
			return
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

func nopePollEndsWithError(c caller) error {
	for {
		v, err := c.Call(context.Background(), "k")
		if err != nil {
			return err
		}
		if v == "done" {
			return nil
		}
		time.Sleep(time.Second)
	}
}

// What is asked for is the next thing each time.
func nopeMessages(next func() (string, error), handle func(string)) {
	for {
		v, err := next()
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		if v == "quit" {
			return
		}
		handle(v)
	}
}

func nopeWorksOnce(c caller, once bool) {
	for {
		if err := c.Ping(); err != nil {
			time.Sleep(time.Second)
			continue
		}
		if once {
			return
		}
		time.Sleep(time.Hour)
	}
}

func nopeDelivers(c caller, out chan<- string, closed error) {
	for {
		v, err := c.Call(context.Background(), "k")
		if err != nil {
			if err == closed {
				return
			}
			time.Sleep(time.Second)
			continue
		}
		select {
		case out <- v:
		case <-time.After(time.Second):
		}
	}
}

// An error is waited out for ever, although an empty answer ends it.
func untilNoMore(fetch interface {
	Jobs(url string) ([]string, error)
}, out chan<- string) {
	for { // want `retry of Jobs .*RL101`
		jobs, err := fetch.Jobs("http://localhost/jobs")
		if err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			continue
		}
		if len(jobs) == 0 {
			break
		}
		for _, job := range jobs {
			out <- job
		}
	}
}

// ---- more than one thing that fails ----

func greet(conn net.Conn) error { _, err := conn.Write([]byte("hello")); return err }

func thenAnother(addr string) net.Conn {
	for { // want `retry of Dial .*RL101`
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		if err := greet(conn); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			continue
		}
		return conn
	}
}

type hint struct{ after time.Duration }

func twoDelays(connect interface {
	Connect(key string) (hint, string, error)
}) string {
	for { // want `retry of Connect .*RL101`
		h, id, err := connect.Connect("k")
		if h.after > 0 {
			time.Sleep(h.after)
			continue
		}
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		return id
	}
}

// What makes the client again has no reason to fail the next time.
func maker(addr string) error {
	for { // want `retry of Refresh .*RL101`
		d, err := newRefresher(addr)
		if err != nil {
			return err
		}
		if err := d.Refresh(); err != nil {
			time.Sleep(time.Minute)
			continue
		}
		return nil
	}
}

// The maker may fail when the context has ended, so that RL104 is not proven.
func makerOfContext(ctx context.Context, addr string) error {
	for { // want `retry of Load .*RL101, RL104; library`
		d, err := newRefresher(addr)
		if err != nil {
			return err
		}
		if err := d.Load(ctx); err != nil {
			time.Sleep(time.Minute) // want `RL102`
			continue
		}
		return nil
	}
}

// A maker that is given the context fails once that has ended.
func makerGivenContext(ctx context.Context, addr string) error {
	for { // want `retry of Load .*\(RL101; `
		d, err := newRefresherFor(ctx, addr)
		if err != nil {
			return err
		}
		if err := d.Load(ctx); err != nil {
			time.Sleep(time.Minute) // want `RL102`
			continue
		}
		return nil
	}
}

func newRefresherFor(ctx context.Context, addr string) (*refresher, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newRefresher(addr)
}

func (r *refresher) Load(ctx context.Context) error { return r.Refresh() }

type refresher struct{ addr string }

func newRefresher(addr string) (*refresher, error) {
	if addr == "" {
		return nil, errStale
	}
	return &refresher{addr}, nil
}

func (r *refresher) Refresh() error { _, err := os.Stat(r.addr); return err }

func nopeNext(next func() (string, error)) {
	for {
		addr, err := next()
		if err != nil {
			continue
		}
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			continue
		}
		conn.Close()
		return
	}
}

// ---- what only looks like an attempt ----

func nopeContextIsAsked(ctx context.Context, test func(), success chan<- int) {
	for ctx.Err() == nil {
		test()
		if ctx.Err() == nil {
			success <- 1
			break
		}
	}
}

func nopeErrorOfScanner(s *bufio.Scanner) (errs []error) {
	for { // want `retry of Err .*RL101; named`
		if !s.Scan() {
			if err := s.Err(); err != nil {
				errs = append(errs, err)
				continue
			}
			return errs
		}
	}
}

func nopeUnwraps(err error) {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		log.Print(inner)
	}
}

func readSettings(r *bufio.Reader, s *settings) (err error) {
	s.name, err = r.ReadString('\n')
	return err
}

func nopeAsksUser(s *settings) {
	r := bufio.NewReader(os.Stdin)
	for { // want `retry of readSettings .*RL101; named`
		if err := readSettings(r, s); err != nil {
			log.Print(err)
		} else {
			break
		}
	}
}

type settings struct{ name string }

func askName() (name string, err error) {
	fmt.Print("name: ")
	_, err = fmt.Scanln(&name)
	return name, err
}

func nopeAsksUserAgain() string {
	for {
		name, err := askName()
		if err == nil {
			return name
		}
	}
}

func nopeAsksThrough(asker interface {
	AskBool(question string) (bool, error)
}) {
	for {
		if ok, err := asker.AskBool("Is it running on all other hosts?"); ok && err == nil {
			break
		}
	}
}

func nopeReceives(ctx context.Context, s interface {
	Receive(ctx context.Context, handle func(string)) error
}) {
	for {
		if err := s.Receive(ctx, func(string) {}); err != nil {
			log.Print(err)
			continue
		}
		break
	}
}

// The clock puts another error in the place of that of the call.
func nopeClockChoosesError(c caller) error {
	start := time.Now()
	var err error
	for err = errBusy; err != nil && errors.Is(err, errBusy); {
		if err = c.Ping(); err != nil {
			if time.Since(start) > time.Minute {
				err = os.ErrDeadlineExceeded
			} else {
				time.Sleep(time.Second)
			}
		}
	}
	return err
}

// ---- a flag that only a success sets ----

func flagOfSuccess(c caller) {
	for done := false; !done; { // want `retry of Ping .*RL101`
		if err := c.Ping(); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
		} else {
			done = true
		}
	}
}

func flagAndContinue(addr string) (conn net.Conn) {
	var err error
	waiting := true
	for waiting { // want `retry of Dial .*RL101`
		conn, err = net.Dial("tcp", addr)
		if err == nil {
			waiting = false
			continue
		}
		time.Sleep(time.Second)
	}
	return conn
}

func nopeFailureSetsFlag(c caller) {
	for done := false; !done; {
		err := c.Ping()
		if err == nil {
			return
		}
		done = errors.Is(err, errStale) || errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Year() > 2030
		time.Sleep(time.Second)
	}
}

func nopeFailureEnds(c caller) {
	for more := true; more; {
		if err := c.Ping(); err != nil {
			log.Print(err)
			more = false
		}
	}
}

func nopeFlagOfAnother(c caller, next func() bool) {
	for done := false; !done; {
		if err := c.Ping(); err != nil {
			time.Sleep(time.Second)
		}
		done = next()
	}
}

type uplink struct {
	addr string
	conn net.Conn
}

// The success that sets the field leaves as well.
func (u *uplink) setsAndLeaves() {
	for { // missed
		if u.conn != nil {
			return
		}
		conn, err := net.Dial("tcp", u.addr)
		if err == nil {
			u.conn = conn
			return
		}
		time.Sleep(time.Second)
	}
}

// ---- errors that are only asked for by their class ----

func untilNotBusy(c caller) error {
	for { // want `retry of Ping .*RL101`
		err := c.Ping()
		if errors.Is(err, errBusy) {
			time.Sleep(time.Second)
			continue
		}
		return err
	}
}

func untilNotSentinel(c caller) error {
	for { // want `retry of Ping .*RL101`
		if err := c.Ping(); err != errBusy {
			return err
		}
		time.Sleep(time.Second)
	}
}

func untilNotOfType(c caller) error {
	for { // want `retry of Ping .*RL101`
		err := c.Ping()
		var status *statusError
		if errors.As(err, &status) {
			time.Sleep(time.Second)
			continue
		}
		return err
	}
}

func untilThere(name string) (os.FileInfo, error) {
	for { // want `retry of Stat .*RL101`
		info, err := os.Stat(name)
		if os.IsNotExist(err) {
			time.Sleep(time.Second)
			continue
		}
		return info, err
	}
}

func codeOf(err error) int {
	var status *statusError
	if errors.As(err, &status) {
		return status.code
	}
	return 0
}

func untilOtherCode(c caller) error {
	for { // want `retry of Ping .*RL101`
		err := c.Ping()
		if codeOf(err) == 503 {
			time.Sleep(time.Second)
			continue
		}
		return err
	}
}

func untilEither(c caller) error {
	for { // want `retry of Ping .*RL101`
		err := c.Ping()
		if errors.Is(err, errBusy) || errors.Is(err, errStale) {
			time.Sleep(time.Second)
			continue
		}
		return err
	}
}

// Others were faster.
func nopeConflictAtOnce(c caller) error {
	for {
		if err := c.Ping(); !errors.Is(err, errBusy) {
			return err
		}
	}
}

func nopeContextEndsClass(ctx context.Context, c caller) error {
	for {
		_, err := c.Call(ctx, "k")
		if errors.Is(err, errBusy) {
			time.Sleep(time.Second) // want `RL102`
			continue
		}
		return err
	}
}

func nopeClassIsCounted(c caller) error {
	for attempt := 0; ; attempt++ {
		err := c.Ping()
		if errors.Is(err, errBusy) && attempt < 5 {
			time.Sleep(time.Second)
			continue
		}
		return err
	}
}

func nopeServesUntilOther(c caller) error {
	for {
		err := c.Ping()
		if errors.Is(err, errBusy) {
			time.Sleep(time.Second)
			continue
		}
		if err != nil {
			return err
		}
		time.Sleep(time.Hour)
	}
}

func nopeAcceptsAgain(l net.Listener) (net.Conn, error) {
	for {
		conn, err := l.Accept()
		if transient(err) {
			time.Sleep(time.Second)
			continue
		}
		return conn, err
	}
}

func nopeSuccessGoesOn(c caller) error {
	for {
		if codeOf(c.Ping()) == 0 {
			time.Sleep(time.Second)
			continue
		}
		return errBusy
	}
}

func nopeAtEndOfFile(tail func() (string, error)) (string, error) {
	for {
		b, err := tail()
		if errors.Is(err, io.EOF) {
			time.Sleep(time.Second)
			continue
		}
		return b, err
	}
}

// ---- errors in variables that function literals share ----

func errorOfOuter(addr string) net.Conn {
	var conn net.Conn
	var err error
	connect := func() {
		for { // want `retry of Dial .*RL101`
			conn, err = net.Dial("tcp", addr)
			if err == nil {
				break
			}
			time.Sleep(time.Second)
		}
	}
	connect()
	return conn
}

func nopeErrorOfOuterIsAnother(addr string, check func() error) {
	var err error
	connect := func() {
		for {
			_, err = net.Dial("tcp", addr)
			err = check()
			if err == nil {
				break
			}
			time.Sleep(time.Second)
		}
	}
	connect()
	log.Print(err)
}

// ---- an error, or an answer that is as bad ----

func errorOrStatus(url string) (*http.Response, error) {
	for { // want `retry of Get .*RL101`
		resp, err := http.Get(url)
		if err != nil || resp.StatusCode >= 500 {
			time.Sleep(time.Second)
			continue
		}
		return resp, nil
	}
}

func goodAnswer(hc *http.Client, req *http.Request) *http.Response {
	for { // want `retry of Do .*RL101`
		resp, err := hc.Do(req)
		if err == nil && resp.StatusCode < 500 {
			return resp
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

func nopeStatusIsCounted(url string) (*http.Response, error) {
	failures := 0
	for {
		resp, err := http.Get(url)
		if err != nil || resp.StatusCode >= 500 {
			if failures++; failures == 5 {
				return resp, err
			}
			time.Sleep(time.Second)
			continue
		}
		return resp, nil
	}
}

// ---- two steps ----

func secondIsOnlyTold(addr string) net.Conn {
	for { // want `retry of Dial .*RL101`
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			log.Print(err)
		} else {
			if err = greet(conn); err != nil {
				log.Print(err)
			} else {
				return conn
			}
		}
		time.Sleep(time.Second)
	}
}

func secondIsToldAndLeft(addr string) {
	for { // want `retry of Dial .*RL101`
		if conn, err := net.Dial("tcp", addr); err == nil {
			if err := greet(conn); err != nil {
				log.Print(err)
			}
			return
		}
		time.Sleep(time.Second)
	}
}

func nopeSecondEnds(addr string) (net.Conn, error) {
	for {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, err
		}
		if err := greet(conn); err != nil {
			return nil, err
		}
		return conn, nil
	}
}

type relay struct {
	addr string
	conn net.Conn
}

// The field is assigned to in each round, and is nil where that failed.
func (r *relay) assignsFirst() {
	var err error
	for r.conn == nil { // want `retry of Dial .*RL101`
		if r.conn, err = net.Dial("tcp", r.addr); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
		}
	}
}

// ---- bools beside errors ----

type starter interface {
	Started(ctx context.Context) (bool, error)
}

// The error is only told, the answer decides.
func waitsForStart(ctx context.Context, s starter) {
	for { // want `retry of Started .*RL101, RL104`
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		started, err := s.Started(limited)
		cancel()
		if !started {
			log.Printf("not started: %v", err)
			continue
		}
		break
	}
}

// An error ends the questions.
func nopeAsksForStart(ctx context.Context, s starter) error {
	for {
		started, err := s.Started(ctx)
		if err != nil {
			return err
		}
		if started {
			return nil
		}
	}
}

func waitsForFile(name string) {
	for { // want `retry of Stat .*RL101`
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			break
		}
		time.Sleep(time.Second)
	}
}

type peer struct {
	mu    sync.Mutex
	conns map[int]net.Conn
}

// What the function returns stands in memory, since it defers a call.
func (p *peer) connects(i int) {
	for { // want `retry of connectAgain .*RL101`
		if ok := p.connectAgain(i); ok {
			return
		}
		time.Sleep(time.Second)
	}
}

func (p *peer) connectAgain(i int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	conn, err := net.Dial("tcp", "localhost:1")
	if err != nil {
		log.Print(err)
		return false
	}
	p.conns[i] = conn
	return true
}

type stepper interface {
	Step(ctx context.Context) (bool, error)
}

// Each call takes the next step.
func nopeSteps(ctx context.Context, s stepper) {
	for { // want `retry of Step .*RL101, RL104; named`
		done, err := s.Step(ctx)
		log.Print("step", done, err)
		if done {
			return
		}
	}
}

type coded struct {
	code int
	ping func() error
}

func (c *coded) try() error {
	err := c.ping()
	if err != nil {
		c.code = 42
	}
	return err
}

// The failure says that it is the last.
func nopeCoded(c *coded) error {
	for { // want `retry of try .*RL101; named`
		if err := c.try(); err == nil || c.code != 0 {
			return err
		}
		time.Sleep(time.Second)
	}
}

type command struct{ err error }

func (c *command) Result() (string, error) { return "", c.err }

func (c *command) Into(to any) error { return c.err }

func (c *command) Find(name string) error { return c.err }

type cache interface {
	Get(ctx context.Context, key string) *command
}

// The context is given to what is asked, not to what asks the answer.
func askedThrough(ctx context.Context, c cache) string {
	for { // want `retry of Result .*RL101, RL104; library`
		v, err := c.Get(ctx, "k").Result()
		if err == nil {
			return v
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

func filledThrough(ctx context.Context, c cache) (v string) {
	for c.Get(ctx, "k").Into(&v) != nil { // want `retry of Into .*RL101, RL104; library`
		time.Sleep(time.Second) // want `RL102`
	}
	return v
}

// What is found is another thing than where.
func foundThrough(ctx context.Context, c cache) {
	for c.Get(ctx, "users").Find("me") != nil { // want `retry of Find .*\(RL101`
		time.Sleep(time.Second) // want `RL102`
	}
}

func nopeAskedThroughLeaves(ctx context.Context, c cache) (string, error) {
	for {
		v, err := c.Get(ctx, "k").Result()
		if err == nil {
			return v, nil
		}
		if errors.Is(err, context.Canceled) {
			return "", err
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

// What classifies the error may know that the context has ended.
func nopeAskedThroughKnows(ctx context.Context, c cache) (string, error) {
	for { // want `retry of Result .*RL101; named`
		v, err := c.Get(ctx, "k").Result()
		if err == nil || isLasting(err) {
			return v, err
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

func isLasting(err error) bool { return len(err.Error()) > 9 }

func nopeAskedThroughInTime(c cache) (v string, err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		v, err = c.Get(ctx, "k").Result()
		cancel()
		if err == nil {
			break
		}
	}
	return v, err
}

// A flag that the last of several steps sets.
func steps(c connector, name string) {
	success := false
	for !success { // missed
		time.Sleep(time.Second)
		addr, err := c.address(name)
		if err != nil {
			log.Print(err)
			continue
		}
		if _, err = c.open(addr); err != nil {
			log.Print(err)
			continue
		}
		success = true
	}
}

type connector interface {
	address(name string) (string, error)
	open(addr string) (net.Conn, error)
}
