package unboundedretry

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

type caller interface {
	Call(ctx context.Context, key string) (string, error)
	Ping() error
	Page(ctx context.Context, after int) ([]int, error)
}

var (
	errBusy  = errors.New("busy")
	errStale = errors.New("stale")
)

func transient(err error) bool { return errors.Is(err, errBusy) }

func startup(c caller) {
	for { // want `retry of Ping never stops: .*RL101`
		if err := c.Ping(); err != nil {
			log.Print("waiting")
			time.Sleep(time.Second)
		} else {
			break
		}
	}
}

func condition(c caller) {
	for c.Ping() != nil { // want `RL101`
		time.Sleep(time.Second)
	}
}

func classified(c caller) error {
	for { // want `RL101`
		_, err := c.Call(context.Background(), "k")
		if err == nil || !transient(err) {
			return err
		}
		if errors.Is(err, errStale) || strings.Contains(err.Error(), "gone") {
			return err
		}
		time.Sleep(time.Second)
	}
}

type statusError struct{ code int }

func (*statusError) Error() string { return "status" }

func classifiedByField(c caller) error {
	for { // want `RL101`
		err := c.Ping()
		var status *statusError
		if err == nil || errors.As(err, &status) && status.code != 503 {
			return err
		}
		time.Sleep(time.Second)
	}
}

func comparedForTheLog(c caller) {
	failures := 0
	for { // want `"failures" is incremented at line \d+ but no exit depends on it`
		if c.Ping() == nil {
			return
		}
		failures++
		if failures > 5 {
			log.Print("still waiting")
		}
		time.Sleep(time.Second)
	}
}

// A refused connection is not counted.
func passedCounter(c caller) error {
	attempts := 0
	for { // want `retry of Ping .*RL101; named`
		err := c.Ping()
		if err == nil {
			return nil
		}
		if strings.Contains(err.Error(), "refused") {
			time.Sleep(time.Second)
			continue
		}
		attempts++
		if attempts > 5 {
			return err
		}
		time.Sleep(time.Second)
	}
}

func deadCounter(ctx context.Context, c caller, out chan<- int) {
	after, retries := 0, 0
	for { // want `"retries" is incremented at line \d+ but never compared`
		page, err := c.Page(ctx, after)
		if err != nil {
			retries++
			log.Print(err, retries)
			time.Sleep(time.Duration(retries) * time.Second) // want `RL102`
			continue
		}
		retries = 0
		if len(page) == 0 {
			return
		}
		for _, v := range page {
			out <- v
		}
		after = page[len(page)-1]
	}
}

func gotoSpin(c caller) {
again:
	err := c.Ping() // want `RL101`
	if err != nil && !errors.Is(err, errStale) {
		goto again
	}
}

func attemptContext(ctx context.Context, c caller) string {
	for { // want `retry of Call`
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		v, err := c.Call(attempt, "k")
		cancel()
		if err == nil {
			return v
		}
	}
}

func dial(addr string) net.Conn {
	for { // want `retry of Dial`
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			log.Println("dial:", err)
			time.Sleep(time.Second)
			continue
		}
		return conn
	}
}

func inGoroutine(c caller) {
	go func() {
		for { // want `RL101`
			if c.Ping() == nil {
				return
			}
		}
	}()
}

// The condition of the loop moves only after a success.
func conditionStandsStill(c interface{ Since(time.Time) error }, from, end time.Time) error {
	for from.Before(end) { // want `RL101`
		if err := c.Since(from.Add(time.Minute)); err != nil {
			continue
		}
		if from.IsZero() {
			from = from.Add(time.Hour)
			continue
		}
		return nil
	}
	return nil
}

type selector interface {
	Select(args map[string]any) ([]int, error)
}

func mapArgument(s selector, use func([]int)) {
	after := 0
	for { // missed
		found, err := s.Select(map[string]any{"after": after, "limit": 1000})
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		if len(found) == 0 {
			break
		}
		use(found)
		after = found[len(found)-1]
	}
}

func withClient(addr string, do func(caller) error) error { return nil }

func closureArgument(addr string) (v string) {
	for { // want `retry of withClient`
		err := withClient(addr, func(c caller) (err error) {
			v, err = c.Call(context.Background(), "k")
			return err
		})
		if err != nil {
			log.Print("waiting for ", addr)
			time.Sleep(time.Second)
		} else {
			break
		}
	}
	return v
}

type worker struct {
	caller  caller
	key     string
	keys    []string
	lastErr error
}

func (w *worker) log(err error) { w.lastErr = err; log.Print(w.key, err) }

// The fields that it assigns to are not those that it calls with.
func (w *worker) recordsErrors() {
	for { // want `retry of Call`
		_, err := w.caller.Call(context.Background(), w.key)
		if err == nil {
			return
		}
		w.lastErr = err
		w.log(err)
	}
}

func (w *worker) gotoInLoop() {
	for i := 0; i < 3; i++ {
		log.Print("item", i)
	retry:
		_, err := w.caller.Call(context.Background(), w.key) // want `retry of Call`
		w.lastErr = err
		if err != nil {
			if !errors.Is(err, errStale) {
				goto retry
			}
			log.Print(err)
		}
	}
}

// One error alone ends it: that of the context does not.
func spared(ctx context.Context, c caller) error {
	for { // want `it retries the end of its context.*\(RL101, RL104`
		_, err := c.Call(ctx, "k")
		if err == errStale {
			return nil
		}
		if err == nil {
			break
		}
		log.Print(err)
		time.Sleep(time.Second) // want `RL102`
	}
	return nil
}

type link struct {
	addr     string
	addrs    []string
	conn     net.Conn
	failures int
	lastErr  error
}

func (l *link) dial() (net.Conn, error) { return net.Dial("tcp", l.addr) }

// What it counts is not what it dials.
func (l *link) connect() {
	for { // want `retry of dial`
		conn, err := l.dial()
		if err == nil {
			l.conn = conn
			return
		}
		l.failures++
		l.lastErr = err
		time.Sleep(time.Duration(l.failures) * time.Second)
	}
}

type option func(*link)

func withTimeout(d time.Duration) option { return func(*link) {} }

type directory interface {
	Users(group string) users
	NextUsers() users
	Refresh()
}

type users interface {
	Find(name string, options ...option) error
}

func newDirectory(addr string) (directory, error) { return nil, errBusy }

func options(u users) {
	for u.Find("me", withTimeout(time.Second)) != nil { // want `retry of Find`
		time.Sleep(time.Second)
	}
}

func partOf(d directory) {
	for d.Users("admins").Find("me") != nil { // want `retry of Find`
		time.Sleep(time.Second)
	}
}

// Its maker fails and is tried again, too.
func madeAnew(addr string) {
	for { // want `retry of Find`
		d, err := newDirectory(addr)
		if err == nil {
			if err = d.Users("admins").Find("me"); err == nil {
				break
			}
		}
		log.Print(err)
		time.Sleep(time.Second)
	}
}

// A closure that only passes errors on is as good as a function.
func closureCalled(c caller) (v string) {
	call := func() (err error) {
		if v, err = c.Call(context.Background(), "k"); err != nil {
			return err
		}
		return c.Ping()
	}
	for call() != nil { // want `RL101`
		time.Sleep(time.Second)
	}
	return v
}

// ---- what must stay silent ----

func nopeClosureReadsAnother(c caller, keys <-chan string) {
	key := "k"
	call := func() error {
		_, err := c.Call(context.Background(), key)
		return err
	}
	for call() != nil {
		key = <-keys
	}
}

func nopeClosureKnowsWhen(c caller, stopped *bool) {
	call := func() error {
		if *stopped {
			return nil
		}
		return c.Ping()
	}
	for call() != nil { // want `retry of a .*RL101; named`
		time.Sleep(time.Second)
	}
}

type reporter interface {
	Errorf(string, ...any)
	FailNow()
}

func noError(t reporter, err error) {}

func nopeAssertion(t reporter, ctx context.Context, c caller) {
	for {
		_, err := c.Call(ctx, "k")
		if err == nil {
			return
		}
		if !errors.Is(err, errBusy) {
			noError(t, err)
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

func (l *link) dialNext() (net.Conn, error) {
	return net.Dial("tcp", l.addrs[l.failures%len(l.addrs)])
}

func (l *link) nopeConnectsToNext() {
	for {
		conn, err := l.dialNext()
		if err == nil {
			l.conn = conn
			return
		}
		l.failures++
	}
}

func nopeChooses(d directory) {
	for d.NextUsers().Find("me") != nil {
		time.Sleep(time.Second)
	}
}

func nopeRefreshes(d directory) {
	for d.Users("admins").Find("me") != nil { // want `retry of Find .*RL101; named`
		d.Refresh()
	}
}

func newName() string { return time.Now().String() }

func nopeNewNames(u users) {
	for u.Find(newName()) != nil {
		time.Sleep(time.Second)
	}
}

type request struct{ port int }

func nopePreparesAnother(c interface {
	Create(request) error
	CreateFrom(map[string]any) error
}, r request, m map[string]any) {
	for port := 8000; ; port++ {
		r.port = port
		if c.Create(r) == nil {
			break
		}
	}
	for port := 8000; ; port++ { // want `retry of CreateFrom .*RL101, RL105; named`
		m["port"] = port
		if c.CreateFrom(m) == nil {
			break
		}
	}
}

func nopeClosureCounts(addr string) {
	failures := 0
	for { // want `retry of withClient .*RL101; named`
		err := withClient(addr, func(c caller) error {
			if failures++; failures == 5 {
				return nil
			}
			return c.Ping()
		})
		if err == nil {
			return
		}
	}
}

func (w *worker) rotate() { w.keys = append(w.keys[1:], w.key); w.key = w.keys[0] }

func (w *worker) rotateNext() { w.rotate() }

func (w *worker) nopeRotates() {
	for { // want `retry of Call .*RL101; named`
		_, err := w.caller.Call(context.Background(), w.key)
		if err == nil {
			return
		}
		w.rotateNext()
	}
}

func (w *worker) nopeNextKey(key string) {
	for {
		if _, err := w.caller.Call(context.Background(), w.key); err == nil {
			return
		}
		w.key = key
	}
}

func (w *worker) nopeStranger(change func(*worker)) {
	for { // want `retry of Call .*RL101; named`
		if _, err := w.caller.Call(context.Background(), w.key); err == nil {
			return
		}
		change(w)
	}
}

func nopeContextArgument(ctx context.Context, c caller) error {
	for {
		err := c.Ping()
		if err == nil || !goOn(ctx, err) {
			return err
		}
	}
}

func goOn(ctx context.Context, err error) bool { return ctx.Err() == nil && transient(err) }

type budget struct{ left time.Duration }

func (b *budget) Backoff(err error) error {
	if b.left -= time.Second; b.left < 0 {
		return err
	}
	time.Sleep(time.Second)
	return nil
}

func nopeBudgetParameter(ctx context.Context, c caller, b *budget) error {
	for {
		if _, err := c.Call(ctx, "k"); err != nil {
			if err = b.Backoff(err); err != nil {
				return err
			}
			continue
		}
		return nil
	}
}

func nopeCapInBody(c caller, maxTries int) error {
	for left := maxTries; ; {
		err := c.Ping()
		left--
		if err == nil || left <= 0 || !transient(err) {
			return err
		}
		time.Sleep(time.Second)
	}
}

func nopeCapInMap(dir string) error {
	seen := map[string]int{}
	for {
		err := os.RemoveAll(dir)
		var pe *os.PathError
		if err == nil || !errors.As(err, &pe) {
			return err
		}
		if seen[pe.Path] == 50 {
			return err
		}
		seen[pe.Path]++
		time.Sleep(100 * time.Millisecond)
	}
}

func nopeOnceFlag(ctx context.Context, c caller) error {
	retrying := false
	for {
		_, err := c.Call(ctx, "k")
		if err != nil {
			if !retrying {
				retrying = true
				continue
			}
			return err
		}
		return nil
	}
}

func nopeElapsed(f func() error) error {
	var start time.Time
	next := time.Millisecond
	for {
		err := f()
		if err == nil {
			return nil
		}
		if start.IsZero() {
			start = time.Now()
		} else if time.Since(start)+next >= 2*time.Second {
			return err
		}
		time.Sleep(next)
		next *= 2
	}
}

func nopeElapsedOfMethod(c caller) error {
	start := time.Now()
	for {
		err := c.Ping()
		if err == nil || time.Since(start) > time.Minute {
			return err
		}
	}
}

func nopeGrowth(c caller) error {
	var backoff time.Duration
	for {
		err := c.Ping()
		if err == nil || !errors.Is(err, errStale) {
			return err
		}
		if backoff >= 15*time.Second {
			return err
		}
		backoff = backoff*12/10 + time.Millisecond
		time.Sleep(backoff)
	}
}

func nopeTimerOutside(path string, stop <-chan struct{}) ([]byte, error) {
	timeout, wait := time.After(time.Minute), time.Second
	for {
		b, err := os.ReadFile(path)
		if err == nil {
			return b, nil
		}
		select {
		case <-time.After(wait):
			wait *= 2
		case <-timeout:
			return nil, err
		case <-stop:
			return nil, err
		}
	}
}

func nopeCountdown(c caller, n int) error {
retry:
	err := c.Ping()
	if err != nil {
		n--
		if n <= 0 {
			return err
		}
		time.Sleep(500 * time.Millisecond)
		goto retry
	}
	return nil
}

func nopeSwap(p *atomic.Int64) {
retry:
	old := p.Load()
	if !p.CompareAndSwap(old, old+1) {
		goto retry
	}
}

func nopeDaemon(c caller) {
	for {
		if err := c.Ping(); err != nil {
			log.Print(err)
			time.Sleep(30 * time.Second)
		}
	}
}

func nopeAccept(l net.Listener, down *atomic.Bool, out chan<- net.Conn) {
	var d time.Duration
	for {
		conn, err := l.Accept()
		if err != nil {
			if down.Load() {
				return
			}
			d = min(max(2*d, 5*time.Millisecond), time.Second)
			time.Sleep(d)
			continue
		}
		d = 0
		out <- conn
	}
}

func nopePages(ctx context.Context, c caller) (all []int, err error) {
	after := 0
	for {
		p, err := c.Page(ctx, after)
		if err != nil {
			return nil, err
		}
		if len(p) == 0 {
			return all, nil
		}
		all, after = append(all, p...), p[len(p)-1]
	}
}

func nopeReceive(r io.Reader, out chan<- []byte) error {
	for {
		b := make([]byte, 512)
		n, err := r.Read(b)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		out <- b[:n]
	}
}

func nopeAlternatives(addrs []string) (net.Conn, error) {
	for i := 0; ; i++ {
		conn, err := net.Dial("tcp", addrs[i%len(addrs)])
		if err == nil {
			return conn, nil
		}
	}
}

func nopeNextName(dir string, name func() string) *os.File {
	for {
		f, err := os.Create(dir + name())
		if err == nil {
			return f
		}
	}
}

func nopeContext(ctx context.Context, c caller) error {
	for {
		err := c.Ping()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func nopeRange(c caller) error {
	var err error
	for range 10 {
		if err = c.Ping(); err == nil {
			return nil
		}
	}
	return err
}

type server struct{ stopped bool }

func (s *server) nopeStopFlag(c caller) {
	for !s.stopped {
		if c.Ping() == nil {
			return
		}
	}
}

func nopeFatal(c caller) {
	for {
		err := c.Ping()
		if err == nil {
			return
		}
		log.Fatal(err)
	}
}

func nopeCallerDecides(f func() error) {
	for f() != nil {
		time.Sleep(time.Second)
	}
}

func nopeOtherError(c caller, refresh func() error) error {
	for {
		err := c.Ping()
		if err == nil {
			return nil
		}
		if err := refresh(); err != nil {
			return err
		}
	}
}

func nopeDelegate(c caller, allowed func(error) bool) error {
	for {
		err := c.Ping()
		if err == nil || !allowed(err) {
			return err
		}
	}
}

func nopeChannel(c caller, ticks <-chan time.Time) error {
	for range ticks {
		if err := c.Ping(); err == nil {
			return nil
		}
	}
	return errStale
}

func nopeFragments(r interface{ ReadSlice() ([]byte, error) }) (all []byte) {
	for {
		fragment, err := r.ReadSlice()
		if err == nil {
			return all
		}
		if err != errStale {
			return nil
		}
		all = append(all, fragment...)
	}
}

func nopeSubscription(c interface{ Next(after int) (int, error) }) {
	after := 0
	for {
		last, err := c.Next(after)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		after = last
	}
}

func nopeNextItem(c caller, keys []string) string {
	for _, key := range keys {
		v, err := c.Call(context.Background(), key)
		if err != nil {
			continue
		}
		return v
	}
	return ""
}

func nopeNextItemOfSame(c caller, keys []string) {
	for range keys {
		if c.Ping() != nil {
			continue
		}
		return
	}
}

func nopeNextOfTwoFields(c caller, pairs [][2]string) (n int) {
	for i := range pairs {
		if _, err := c.Call(context.Background(), pairs[i][0]); err != nil {
			continue
		}
		n++
	}
	return n
}

func nopeContinueCounts(c caller, max int) {
	for i := 0; i < max; i++ {
		if c.Ping() != nil {
			continue
		}
		break
	}
}

// The number may be what is searched for.
func nopeSearch(c interface{ Use(port int) error }) int {
	for port := 8000; ; port++ {
		if c.Use(port) == nil {
			return port
		}
	}
}

func nopeLonger(c interface{ Within(time.Duration) error }) {
	for d := time.Second; ; d *= 2 {
		if c.Within(d) == nil {
			return
		}
	}
}

// Rejection sampling: another random number each time.
func nopeSampling(next func() byte, parse func(byte) (int, error)) int {
	for {
		v, err := parse(next())
		if err != nil {
			continue
		}
		return v
	}
}

// A reader comes to the end of what it reads.
func nopeSkipMalformed(r interface{ Record() (string, error) }) (string, error) {
	for {
		record, err := r.Record()
		if errors.Is(err, io.EOF) {
			return "", err
		}
		if err != nil {
			log.Print("skipped:", err)
			continue
		}
		return record, nil
	}
}

func nopeInterrupted(r io.Reader, p []byte) (int, error) {
	for {
		n, err := r.Read(p)
		if err != nil {
			if err == syscall.EINTR {
				continue
			}
			return 0, err
		}
		return n, nil
	}
}

func isReady(err error) bool {
	switch err {
	case syscall.EAGAIN, syscall.EINTR:
		return false
	}
	return true
}

func nopeNotReady(c caller) error {
	for { // want `retry of Ping .*RL101; named`
		err := c.Ping()
		switch {
		case err == nil:
			return nil
		case !isReady(err):
			continue
		}
		return err
	}
}

func nopeClosure(c caller) {
	failures := 0
	ping := func() error {
		if failures++; failures == 5 {
			return nil
		}
		return c.Ping()
	}
	for ping() != nil { // want `retry of a .*RL101; named`
		time.Sleep(time.Second)
	}
}

var stopping atomic.Bool

func stop() { stopping.Store(true) }

func goOnWhileServing(err error) bool { return !stopping.Load() && transient(err) }

func nopeClassifierKnowsMore(c caller) error {
	for {
		err := c.Ping()
		if err == nil || !goOnWhileServing(err) {
			return err
		}
		time.Sleep(time.Second)
	}
}

var failuresLeft = 10

func countsDown(err error) bool { failuresLeft--; return failuresLeft > 0 && transient(err) }

func nopeClassifierCounts(c caller) error {
	for {
		err := c.Ping()
		if err == nil || !countsDown(err) {
			return err
		}
	}
}

type logger struct{}

func (logger) Fatalf(string, ...any) {}

func nopeFatalOfALogger(c caller, l logger) {
	for {
		if err := c.Ping(); err == nil {
			return
		} else {
			l.Fatalf("ping: %v", err)
		}
	}
}

// One error alone asks for the same again, at once: each call gets further.
func nopeMoreToDo(c caller) error {
	for {
		err := c.Ping()
		if errors.Is(err, errBusy) {
			continue
		}
		return err
	}
}

// Behind the success the function serves for ever, as it would before.
func nopeServesAfterwards(c caller, work <-chan func()) {
	for c.Ping() != nil {
		time.Sleep(time.Second)
	}
	for {
		(<-work)()
	}
}

// What says that the error is transient may well know that the context ended.
func nopeClassifierMayKnowTheContext(ctx context.Context, c caller) error {
	for { // want `retry of Call .*RL101; named`
		_, err := c.Call(ctx, "k")
		if err == nil || !transient(err) {
			return err
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

// The next address, in a variable that a closure shares.
func nopeNextAddress(next func() net.IP, free func(net.IP)) (ip net.IP, done func()) {
	for attempts := 0; ; attempts++ {
		ip = next()
		ln, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: ip})
		if err != nil {
			free(ip)
			continue
		}
		if attempts > 3 {
			log.Print(attempts)
		}
		return ip, func() {
			ln.Close()
			free(ip)
		}
	}
}

func hello() error { _, err := net.Dial("tcp", "localhost:1"); return err }

// What is tried first goes on for ever, whatever ends what comes behind it.
func registers(c caller, log func(error)) error {
	ctx := context.Background()
	for { // want `retry of hello never stops`
		if err := hello(); err != nil {
			log(err)
			time.Sleep(time.Second)
			continue
		}
		settings, err := c.Call(ctx, "settings")
		if err != nil {
			log(err)
			time.Sleep(time.Second)
			continue
		}
		if settings == "" {
			return errors.New("no settings")
		}
		if _, err := c.Call(ctx, "register"); err != nil {
			log(err)
			time.Sleep(time.Second)
			continue
		}
		return nil
	}
}

type part struct{ Done bool }

func (s *stream) fetch() error {
	for {
		p, err := s.recv()
		if err != nil {
			return err
		}
		if p.Done {
			return nil
		}
	}
}

type stream struct{ recv func() (*part, error) }

// The last part says that it is done: nobody has stopped.
func fetches(s *stream) {
	for { // want `retry of fetch never stops`
		err := s.fetch()
		if err == nil {
			break
		}
		time.Sleep(time.Second)
	}
}

type wallet struct{}

// It leaves by the second of two conditions.
func waitsForBoth() (w *wallet, err error) {
	account := ""
	for w == nil || account == "" { // missed: the other operation decides whether w is nil
		time.Sleep(time.Second)
		if w, err = openWallet(); err != nil {
			log.Print(err)
			continue
		}
		if account, err = w.account(); err != nil {
			log.Print(err)
		}
	}
	return w, nil
}

func (w *wallet) account() (string, error) {
	b, err := os.ReadFile("account")
	return string(b), err
}

func openWallet() (*wallet, error) {
	_, err := os.Stat("wallet")
	return &wallet{}, err
}

// A callOption tells how a call is made.
type callOption interface{ apply() }

type greeter interface {
	greet(ctx context.Context, options ...callOption) error
}

// Each attempt is given the same option.
func greetsWithOption(g greeter) {
	for { // want `retry of greet never stops`
		if err := g.greet(context.Background(), waitForReady(true)); err == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

var whenReady callOption

func waitForReady(bool) callOption { return whenReady }
