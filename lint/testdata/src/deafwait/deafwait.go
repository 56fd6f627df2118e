package deafwait

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"reflect"
	"testing"
	"time"
)

type caller interface {
	Call(ctx context.Context, key string) (string, error)
	Ping() error
	Status(id int) (done bool, err error)
}

var errBusy = errors.New("busy")

func asked(ctx context.Context, c caller) error {
	for ctx.Err() == nil {
		if err := c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second) // want `this wait continues after ctx has ended: use a select with its Done channel \(RL102`
	}
	return ctx.Err()
}

func counted(ctx context.Context, c caller) (err error) {
	for attempt := 1; attempt <= 3; attempt++ {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		time.Sleep(time.Duration(attempt*attempt) * time.Second) // want `RL102`
	}
	return err
}

func received(ctx context.Context, c caller) {
	for range 5 {
		if c.Ping() == nil {
			return
		}
		<-time.After(time.Second) // want `RL102`
	}
}

func poll(ctx context.Context, c caller, id int) error {
	for {
		time.Sleep(10 * time.Second) // want `RL102`
		done, err := c.Status(id)
		if err != nil || done {
			return err
		}
	}
}

// The context is derived anew under its old name.
func pollsInAGoroutine(c caller, run func(func() error)) {
	ctx := context.Background()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	run(func() error {
		for {
			time.Sleep(10 * time.Second) // want `RL102`
			v, err := c.Call(ctx, "k")
			if err != nil {
				return err
			}
			if v != "" {
				return nil
			}
		}
	})
}

func daemonThatSkipsItsCheck(ctx context.Context, c caller) {
	for {
		if _, err := c.Call(ctx, "k"); err != nil {
			time.Sleep(15 * time.Second) // want `RL102`
			continue
		}
		select {
		case <-ctx.Done():
			return
		default:
		}
	}
}

func jump(ctx context.Context, c caller) error {
again:
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := c.Ping(); err != nil {
		time.Sleep(time.Second) // want `RL102`
		goto again
	}
	return nil
}

func captured(c caller) func() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	go func() {
		defer cancel()
		for range 5 {
			if _, err := c.Call(ctx, "k"); err == nil {
				return
			}
			time.Sleep(time.Second) // want `RL102`
		}
	}()
	return cancel
}

func request(w http.ResponseWriter, r *http.Request, c caller) {
	ctx := r.Context()
	for range 3 {
		if _, err := c.Call(ctx, "k"); err == nil {
			return
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

func nopeSelect(ctx context.Context, c caller) error {
	for {
		if err := c.Ping(); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func nopeShort(ctx context.Context, dir string) (err error) {
	for range 50 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

func nopeNoContext(c caller) {
	for range 5 {
		if c.Ping() == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

func nopeBackground(c caller) {
	ctx := context.Background()
	for range 5 {
		if _, err := c.Call(ctx, "k"); err == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// One thing after the other, slowly, is no retry.
func nopePaced(ctx context.Context, c caller, keys []string) {
	for _, key := range keys {
		if _, err := c.Call(ctx, key); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// It looks at something for as long as the program runs, and leaves by nothing.
func nopeWatch(ctx context.Context, c caller, log func(error)) {
	for {
		time.Sleep(250 * time.Millisecond)
		if err := c.Ping(); err != nil {
			log(err)
		}
	}
}

// The context has ended already: this is cleaning up.
func nopeAfterTheEnd(ctx context.Context, c caller) {
	for {
		select {
		case <-ctx.Done():
			time.Sleep(time.Second)
			return
		default:
		}
		if c.Ping() == nil {
			return
		}
	}
}

type request2 struct{ id int }

type service interface {
	Get(ctx context.Context, r *request2, opts ...int) (bool, error)
	Start(ctx context.Context) (*request2, error)
}

func pollInClosure(run func(func() error), s service) {
	ctx, cancel := context.WithTimeout(shared, time.Minute)
	defer cancel()
	run(func() error {
		r, err := s.Start(ctx)
		if err != nil {
			return err
		}
		id := r.id
		started := false
		for {
			time.Sleep(10 * time.Second) // want `RL102`
			done, err := s.Get(ctx, &request2{id: id})
			if err != nil {
				return err
			}
			if done {
				break
			}
			if !started {
				started = true
			}
		}
		return nil
	})
}

// The length of what is read decides, and is no attempt.
func nopeParse(ctx context.Context, c caller, body []byte) {
	for offset := 0; offset < len(body); {
		if len(body) < offset+4 {
			break
		}
		if _, err := c.Call(ctx, string(body[offset:offset+4])); errors.Is(err, errBusy) {
			time.Sleep(200 * time.Millisecond)
		}
		offset += 4
	}
}

type closer struct{ ctx context.Context }

func (c *closer) Ctx() context.Context { return c.ctx }

func asksCloser(c caller, closer *closer) {
	for closer.Ctx().Err() == nil {
		if c.Ping() == nil {
			return
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

// The context of the stream ends with it.
func nopeOfStream(open func() (interface{ Context() context.Context }, error)) {
	for {
		stream, err := open()
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		if stream.Context().Err() == nil {
			return
		}
	}
}

func text(s string) *string { return &s }

func asksByPointer(ctx context.Context, find func(context.Context, *string) error) error {
	for i := range 5 {
		if err := find(ctx, text("name")); err == nil {
			return nil
		}
		time.Sleep(time.Duration(i+1) * time.Second) // want `RL102`
	}
	return context.DeadlineExceeded
}

// What it does is not for its caller.
func nopeDetached(ctx context.Context, ask func(context.Context) error) error {
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		for ask(context.Background()) != nil {
			time.Sleep(time.Second)
		}
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-ready:
		return nil
	}
}

type options struct{ ctx context.Context }

func nopeWithoutContext(c caller, o options) error {
	err := c.Ping()
	for err != nil { // want `retry of Ping .*RL101; named`
		if o.ctx != nil {
			select {
			case <-o.ctx.Done():
				return o.ctx.Err()
			case <-time.After(time.Second):
			}
		} else {
			time.Sleep(time.Second)
		}
		err = c.Ping()
	}
	return nil
}

// It paces what comes.
func nopePaces(closer *closer, incoming <-chan int, work func(int)) {
	for {
		select {
		case <-closer.ctx.Done():
			return
		case n := <-incoming:
			time.Sleep(time.Second)
			work(n)
		}
	}
}

// Each round starts another; Background asks for nothing.
func nopeLaunches(ctx context.Context, beat func(context.Context, int), start func(ctx context.Context, id string) error) error {
	for i := range 100 {
		attempt, cancel := context.WithTimeout(context.Background(), time.Minute)
		err := start(attempt, fmt.Sprint(i))
		cancel()
		if err != nil {
			return err
		}
		beat(ctx, i)
		time.Sleep(time.Second)
	}
	return nil
}

// It does the same several times over.
func nopeRepeats(ctx context.Context, scale func(context.Context, int) error) error {
	for range 5 {
		if err := scale(ctx, 0); err != nil {
			return err
		}
		time.Sleep(2 * time.Second)
	}
	return nil
}

type change struct{ ID, Status, Next string }

// What was returned decides what is asked for next.
func nopeAsksForItself(ctx context.Context, get func(context.Context, string) (*change, error), c *change) (err error) {
	for c.Status == "pending" {
		time.Sleep(time.Second)
		if c, err = get(ctx, c.ID); err != nil {
			return err
		}
	}
	return nil
}

func nopePages(ctx context.Context, get func(context.Context, string) (*change, error), c *change) (err error) {
	for c.Status == "more" {
		time.Sleep(time.Second)
		if c, err = get(ctx, c.Next); err != nil {
			return err
		}
	}
	return nil
}

// What is filled is asked.
func fills(ctx context.Context, get func(context.Context, string, *change) error, c *change) error {
	for i := 0; ; i++ {
		if i == 300 {
			return context.DeadlineExceeded
		}
		time.Sleep(time.Second / 4) // want `RL102`
		if err := get(ctx, "name", c); err != nil {
			return err
		}
		if c.Status == "ready" {
			return nil
		}
	}
}

// The struct that it returns is asked.
func running(ctx context.Context, inspect func(context.Context, string) (change, error)) error {
	for {
		c, err := inspect(ctx, "name")
		if err != nil {
			return err
		}
		if c.Status == "running" {
			time.Sleep(time.Second) // want `RL102`
			continue
		}
		return nil
	}
}

type clock interface{ Sleep(time.Duration) }

func byClock(ctx context.Context, c clock, f func(context.Context) error) (err error) {
	for range 5 {
		if err = f(ctx); err == nil {
			return nil
		}
		c.Sleep(time.Second) // want `RL102`
	}
	return err
}

func asksBesideClock(ctx context.Context, c clock, f func() error) (err error) {
	for range 5 {
		if err = f(); err == nil || ctx.Err() != nil {
			return err
		}
		c.Sleep(time.Second) // want `RL102`
	}
	return err
}

func comparesTheEnd(get func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	for {
		if ctx.Err() == context.DeadlineExceeded {
			return ctx.Err()
		}
		if err := get(); err == nil {
			return nil
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

type manager struct{ ctx context.Context }

func newManager(ctx context.Context) *manager { return &manager{ctx: ctx} }

// Who gave what is kept may end it.
func (m *manager) recover(load func(context.Context) error) (err error) {
	ctx := m.ctx
	for range 5 {
		if err = load(ctx); err == nil {
			return nil
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return err
}

func (m *manager) readInPlace(load func(context.Context) error) (err error) {
	for range 5 {
		if err = load(m.ctx); err == nil {
			return nil
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return err
}

type server struct{ ctx context.Context }

func newServer() *server { return &server{ctx: context.Background()} }

func (s *server) nopeKeptForEver(load func(context.Context) error) (err error) {
	ctx := s.ctx
	for range 5 {
		if err = load(ctx); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

// The context of a stream ends with its call.
func ofStream(stream interface{ Context() context.Context }, load func(context.Context) error) (err error) {
	ctx := stream.Context()
	for range 5 {
		if err = load(ctx); err == nil {
			return nil
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return err
}

type image interface {
	Name() string
	NextTag() string
}

// What a thing is called stays the same.
func publishes(ctx context.Context, i image, publish func(string) error) error {
	for range 30 {
		if err := publish(i.Name()); err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return nil
}

// What a function value returns may differ each time.
func nopeAsksHowToAsk(ctx context.Context, get func(context.Context, string) (*change, error), keyOf func() string) error {
	for {
		c, err := get(ctx, keyOf())
		if err != nil {
			return err
		}
		if c.Status != "pending" {
			return nil
		}
		time.Sleep(time.Second)
	}
}

// Somebody else cancels it.
func cancelledElsewhere(c interface{ Ping(context.Context) error }, quit <-chan os.Signal) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-quit
		cancel()
	}()
	for range 5 {
		if err := c.Ping(ctx); err == nil {
			return
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

// It only asks for the end, and draws in between.
func nopeDraws(draw func(), quit <-chan os.Signal) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-quit
		cancel()
	}()
	for ctx.Err() == nil {
		draw()
		time.Sleep(time.Second)
	}
}

func byTicker(ctx context.Context, get func(context.Context) (*change, error)) (*change, error) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	tries := 0
	for range ticker.C { // want `RL102`
		if tries++; tries == 100 {
			return nil, errors.New("still pending")
		}
		c, err := get(ctx)
		if err != nil {
			return nil, err
		}
		if c.Status != "pending" {
			return c, nil
		}
	}
	return nil, nil
}

func byTimer(ctx context.Context, f func() error) {
	for {
		if f() == nil {
			return
		}
		timer := time.NewTimer(time.Second)
		<-timer.C // want `RL102`
	}
}

// It goes on at intervals.
func nopeTicks(ctx context.Context, report func(context.Context)) {
	ticker := time.NewTicker(time.Second)
	for range ticker.C {
		report(ctx)
	}
}

type beater struct {
	ctx  context.Context
	beat func() error
}

// The failure waits, and only a success asks for the end.
func (b *beater) run(ticks <-chan time.Time) {
	for {
		if err := b.beat(); err != nil {
			time.Sleep(time.Second) // want `RL102`
			continue
		}
		select {
		case <-b.ctx.Done():
			return
		case <-ticks:
		}
	}
}

// It is filled anew each time.
func fillsAnew(ctx context.Context, get func(context.Context, *change) error) (string, error) {
	for range 100 {
		c := &change{}
		if err := get(ctx, c); err != nil {
			return "", err
		}
		if c.Next != "" {
			return c.Next, nil
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return "", errors.New("still pending")
}

// A timer that has run out is only emptied.
func nopeDrains(ctx context.Context, ping func(context.Context) error) error {
	timer := time.NewTimer(time.Second)
	for {
		err := ping(ctx)
		if err == nil {
			return nil
		}
		if !timer.Stop() {
			<-timer.C
		}
		timer.Reset(time.Second)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// Nobody else can cancel it.
func nopeCancelsItself(ping func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	for range 5 {
		if err := ping(ctx); err == nil {
			cancel()
			return nil
		}
		time.Sleep(time.Second)
	}
	cancel()
	return errors.New("nobody is there")
}

type pauser struct{ ctx context.Context }

func (p *pauser) Sleep(d time.Duration) {
	select {
	case <-p.ctx.Done():
	case <-time.After(d):
	}
}

func nopePauses(ctx context.Context, p *pauser, ping func(context.Context) error) {
	for range 5 {
		if ping(ctx) == nil {
			return
		}
		p.Sleep(time.Second)
	}
}

var shared, cancelShared = context.WithCancel(context.Background())

// All share the context that it is derived from.
func derives(ping func(context.Context) error) {
	ctx, cancel := context.WithCancel(shared)
	defer cancel()
	for range 5 {
		if ping(ctx) == nil {
			return
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

// It is to go on when the caller has gone.
func nopeWithoutCancel(ctx context.Context, get func(context.Context) (*change, error)) {
	for range 100 {
		c, err := get(context.WithoutCancel(ctx))
		if err != nil {
			return
		}
		if c.Status != "pending" {
			return
		}
		time.Sleep(time.Second)
	}
}

type router struct {
	sleep func(time.Duration)
	get   func(context.Context) (*change, error)
}

func (r *router) readers(ctx context.Context) (c *change, err error) {
	for range 5 {
		if c, err = r.get(ctx); err != nil {
			return nil, err
		}
		if c.Status != "pending" {
			break
		}
		r.sleep(250 * time.Millisecond) // want `RL102`
	}
	return c, nil
}

// The connection ends it, and it ends with the connection.
func nopeTakesStreams(conn interface {
	Context() context.Context
	AcceptStream(context.Context) (*change, error)
}, add func(*change)) {
	for {
		stream, err := conn.AcceptStream(context.Background())
		if err != nil {
			select {
			case <-conn.Context().Done():
				return
			default:
				time.Sleep(time.Second)
				continue
			}
		}
		add(stream)
	}
}

// An answer only makes it do more; an error ends it.
func nopeWatches(ctx context.Context, count func(context.Context) (int, error), halt func()) {
	for {
		n, err := count(ctx)
		if err != nil {
			return
		}
		if n > 0 {
			halt()
		}
		time.Sleep(time.Second)
	}
}

// Whether one of several is it, a loop finds out.
func untilGone(ctx context.Context, list func(context.Context) ([]string, error), name string) error {
	for {
		names, err := list(ctx)
		if err != nil {
			return err
		}
		found := false
		for _, n := range names {
			if n == name {
				found = true
				break
			}
		}
		if !found {
			return nil
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

type keeper struct {
	ctx      context.Context
	c        caller
	handlers map[string]func()
}

func newKeeper(ctx context.Context, c caller) *keeper { return &keeper{ctx: ctx, c: c} }

// The field holds what the call is given, and its end is retried for ever.
func (k *keeper) keeps(key string) {
	failed := 0
	for { // want `RL101, RL104, RL105`
		_, err := k.c.Call(k.ctx, key)
		if err != nil {
			failed++
			time.Sleep(time.Duration(failed) * time.Second) // want `RL102`
			continue
		}
		return
	}
}

// The last case of a select leaves, and is no part of the loop.
func (k *keeper) beats() {
	ticker := time.NewTicker(time.Second)
	for {
		if err := k.c.Ping(); err != nil {
			t := time.NewTimer(time.Minute)
			<-t.C // want `RL102`
			continue
		}
		select {
		case <-ticker.C:
		case <-k.ctx.Done():
			return
		}
	}
}

func (k *keeper) monitor(ctx context.Context) error {
	if len(k.handlers) > 0 {
		return errBusy
	}
	_, err := k.c.Call(ctx, "all")
	return err
}

// A map that each failure makes anew is as empty as the one before.
func (k *keeper) resets(ctx context.Context) {
	for { // missed
		if err := k.monitor(ctx); err == nil {
			return
		}
		k.handlers = make(map[string]func())
		time.Sleep(10 * time.Second)
	}
}

type lister interface {
	SelectorFrom(name string) string
	List(ctx context.Context, into *names, selector string) error
}

type names struct{ items []string }

// What is selected is the same each time, and fills an empty list.
func untilNone(ctx context.Context, l lister, name string) error {
	for i := 0; i < 300; i++ {
		found := names{}
		if err := l.List(ctx, &found, l.SelectorFrom(name)); err != nil {
			return err
		}
		if len(found.items) == 0 {
			return nil
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return errBusy
}

// The attempt may have a time limit of its own, and the loop asks for the end.
func limited(req *http.Request, handle func(*http.Request) (*http.Response, error), limit time.Duration) error {
	for retries := 0; retries < 3; retries++ {
		ctx := req.Context()
		if limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		resp, err := handle(req.Clone(ctx))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && resp.StatusCode < 500 {
			return nil
		}
		time.Sleep(longer(retries)) // want `RL102`
	}
	return errBusy
}

func longer(n int) time.Duration { return time.Duration(n) * time.Second }

// The timer is set to a longer time by each failure.
func resetTimer(ctx context.Context, c caller) error {
	timer := time.NewTimer(0)
	for retries := 0; ; retries++ {
		<-timer.C // want `RL102`
		if err := c.Ping(); err == nil || retries > 5 {
			return err
		}
		timer.Reset(longer(retries))
	}
}

type session struct{ next int }

func (s *session) send(ctx context.Context, n int) (last bool, err error) {
	return s.next > n, ctx.Err()
}

type sessions interface{ current() *session }

// Without a session there is nothing to go on with: it asks for the next each time.
func nopeNextOnSession(ctx context.Context, all sessions, from *session) error {
	for {
		s := all.current()
		if s == nil {
			return errBusy
		}
		last, err := s.send(ctx, from.next)
		if err != nil {
			return err
		}
		if last {
			return nil
		}
		from.next = from.next + 1
		time.Sleep(time.Second)
	}
}

type command struct{ err error }

func (c *command) Err() error { return c.err }

// Its error is that of what it embeds.
type status struct{ command }

type cache interface{ Ping(context.Context) *status }

func pings(ctx context.Context, c cache) (err error) {
	for range 10 {
		if err = c.Ping(ctx).Err(); err != nil {
			time.Sleep(time.Second) // want `RL102`
			continue
		}
		return nil
	}
	return err
}

// Each success is used: it is not asked until something is right.
func nopeTellsEach(ctx context.Context, c caller, told func(string)) {
	for ctx.Err() == nil {
		answer, err := c.Call(ctx, "k")
		if err != nil {
			return
		}
		told(answer)
		time.Sleep(time.Second)
	}
}

// The next key may be another one.
func nopeDeletes(ctx context.Context, c caller, keys chan string) {
	for {
		select {
		case <-ctx.Done():
			return
		case key := <-keys:
			if _, err := c.Call(ctx, key); err != nil {
				keys <- key
				time.Sleep(time.Second)
			}
		}
	}
}

// No answer ends it.
func nopeWatchesUntilTheEnd(ctx context.Context, active func() bool) {
	for ctx.Err() == nil {
		if !active() {
			fmt.Println("not active")
		}
		time.Sleep(time.Minute)
	}
}

// It takes what comes, and is slow at it.
func nopeSlow(ctx context.Context, messages <-chan string, told func(string)) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-messages:
			told(m)
			time.Sleep(time.Second)
		}
	}
}

// It serves for ever: only a failure that waits would do so in vain.
func nopeRefreshes(ctx context.Context, c caller, told func(string)) {
	for {
		time.Sleep(time.Minute)
		answer, err := c.Call(ctx, "settings")
		if err != nil {
			continue
		}
		told(answer)
	}
}

// The loop asks for the end, and tells the operation which attempt it is.
func numbered(ctx context.Context, op func(attempt int) (again bool, err error)) error {
	for attempt := 1; ; attempt++ {
		again, err := op(attempt)
		if !again || err == nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(longer(attempt)) // want `RL102`
	}
}

func isNotFound(err error) bool { return errors.Is(err, os.ErrNotExist) }

// One class of failures is what it waits for: each success may be used as well.
func nopeUntilDeleted(ctx context.Context, c caller) error {
	for {
		if _, err := c.Call(ctx, "k"); err != nil {
			if isNotFound(err) {
				break
			}
			return err
		}
		time.Sleep(time.Second)
	}
	return c.Ping()
}

type ticking interface {
	After(time.Duration) <-chan time.Time
}

// Another clock than that of the package time tells when it is time.
func waitsByClock(ctx context.Context, c caller, clock ticking) error {
	for ctx.Err() == nil {
		if err := c.Ping(); err != nil {
			<-clock.After(250 * time.Millisecond) // want `RL102`
			continue
		}
		return nil
	}
	return ctx.Err()
}

type location struct{ city, street *string }

type atlas struct {
	c    caller
	city string
}

func (a *atlas) fill(l *location) { l.street = &a.city }

func (a *atlas) find(ctx context.Context, l *location) (*string, error) {
	_, err := a.c.Call(ctx, a.city)
	return l.street, err
}

// What one struct is filled with is not what another holds.
func (a *atlas) waitsUntilFound(ctx context.Context) error {
	for {
		l := &location{city: &a.city}
		a.fill(l)
		found, err := a.find(ctx, l)
		if err != nil {
			return err
		}
		if found != nil && *found == "unknown" {
			time.Sleep(time.Second) // want `RL102`
		} else {
			return nil
		}
	}
}

// The context is that of the request, wherever that is asked for it.
func inPlace(w http.ResponseWriter, r *http.Request, c caller) {
	for range 10 {
		if _, err := c.Call(r.Context(), "k"); err == nil {
			return
		}
		time.Sleep(time.Second) // want `after the context has ended`
	}
}

type transport struct{ next http.RoundTripper }

func (t transport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	for range 10 {
		if resp, err = t.next.RoundTrip(req); err == nil {
			return resp, nil
		}
		time.Sleep(time.Second) // want `after req.Context\(\) has ended`
	}
	return nil, err
}

// Not longer than 50 milliseconds.
func nopeRandomButShort(ctx context.Context, c caller) (err error) {
	for range 10 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		time.Sleep(time.Duration(rand.Intn(50)) * time.Millisecond)
	}
	return err
}

func nopePartButShort(ctx context.Context, c caller) (err error) {
	const interval = 50 * time.Millisecond
	random := rand.New(rand.NewSource(1))
	for range 10 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		time.Sleep(time.Duration(random.Float64() * float64(interval)))
	}
	return err
}

// Nobody but its own time limit ends the context.
func nopeOwnTime(s service) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		done, err := s.Get(ctx, nil)
		if err != nil || done {
			return err
		}
		time.Sleep(time.Second)
	}
}

type subscription interface {
	ReceiveMessage(ctx context.Context) (string, error)
}

// By its name it takes what comes, for as long as the program runs.
func serves(ctx context.Context, s subscription, out chan<- string) error {
	for {
		text, err := s.ReceiveMessage(ctx)
		if err != nil {
			if errors.Is(err, context.Canceled) {
				return nil
			}
			time.Sleep(time.Second) // want `\(RL102; named\)`
			continue
		}
		out <- text
	}
}

// All its callers give it a context that never ends: today nothing ends it.
func prepares(c caller) error { return givenBackground(context.Background(), c) }

func givenBackground(ctx context.Context, c caller) (err error) {
	for range 10 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		time.Sleep(time.Second) // want `\(RL102; named\)`
	}
	return err
}

// Its context ends when the function returns that starts it.
func startsToPrepare(c caller) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go givenCancelled(ctx, c)
}

func givenCancelled(ctx context.Context, c caller) {
	for range 10 {
		if _, err := c.Call(ctx, "k"); err == nil {
			return
		}
		time.Sleep(time.Second) // want `\(RL102; library\)`
	}
}

// Each cancels what the other has made.
func takesTurns(c caller) {
	ctx, cancel := context.WithCancel(context.Background())
	_, other := context.WithCancel(ctx)
	turn := func() { cancel, other = other, cancel }
	for range 10 {
		cancel, other = other, cancel
		if _, err := c.Call(ctx, "k"); err == nil {
			turn()
			return
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

// What is cleaned up behind the end of the context fails with that.
func cleansUp(ctx context.Context, c caller) (err error) {
	defer func() {
		for range 3 {
			if _, undone := c.Call(ctx, "undo"); undone == nil {
				return
			}
			time.Sleep(time.Second) // want `this wait continues after ctx has ended: .*RL102`
		}
	}()
	_, err = c.Call(ctx, "do")
	return err
}

type table interface {
	ReadRow(ctx context.Context, id [16]byte) (*string, error)
	ReadMessage(ctx context.Context) (*string, error)
}

func reads(ctx context.Context, t table, id [16]byte) (string, error) {
	for range 10 {
		row, err := t.ReadRow(ctx, id)
		if err != nil {
			return "", err
		}
		if row != nil {
			return *row, nil
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return "", errBusy
}

// By its name it reads the next.
func readsNext(ctx context.Context, t table) (string, error) {
	for range 10 {
		text, err := t.ReadMessage(ctx)
		if err != nil {
			return "", err
		}
		if text != nil {
			return *text, nil
		}
		time.Sleep(time.Second) // want `\(RL102; named\)`
	}
	return "", errBusy
}

type user string

// with makes a context that nobody ends.
func with(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, user(name), name)
}

func nopeDetachedByHelper(ctx context.Context, c caller, name string) {
	go func() {
		own := with(context.Background(), name)
		for range 3 {
			time.Sleep(time.Second)
			if _, err := c.Call(own, "k"); err == nil {
				return
			}
		}
	}()
}

// Where there is no channel, the context never ends.
func nopeNeverEnds(ctx context.Context, c caller) (err error) {
	for range 5 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		if done := ctx.Done(); done != nil {
			select {
			case <-done:
				return err
			case <-time.After(time.Second):
				continue
			}
		}
		time.Sleep(time.Second)
	}
	return err
}

func twoTimers(ctx context.Context, c caller) (err error) {
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	for {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		select { // want `RL102`
		case <-time.After(time.Second):
		case <-timeout.C:
			return err
		}
	}
}

func nopeTimerAndStop(ctx context.Context, c caller, stop <-chan struct{}) (err error) {
	for {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-stop:
			return err
		}
	}
}

// ---- loops that pace what they do ----

func nopePacesItems(ctx context.Context, items <-chan []string, wait func() time.Duration, c caller) {
	for keys := range items {
		select {
		case <-ctx.Done():
			return
		default:
		}
		if d := wait(); d > 0 {
			time.Sleep(d)
		}
		go func() {
			for _, key := range keys {
				c.Call(ctx, key)
			}
		}()
	}
}

func nopePacesMessages(ctx context.Context, ids <-chan string, c caller) (n int) {
	for {
		select {
		case <-ctx.Done():
			return n
		case id, ok := <-ids:
			if !ok {
				return n
			}
			if err := once(func() error { _, err := c.Call(ctx, id); return err }); err == nil {
				n++
			}
			time.Sleep(time.Second)
		}
	}
}

func once(f func() error) error { return f() }

type experiment struct {
	nodes, probes              []string
	interval, duration, length int
}

func stop(node string, after int) error { return os.Remove(node) }

func probe(ctx context.Context, e *experiment, c caller) error {
	_, err := c.Call(ctx, e.probes[0])
	return err
}

// What it does it does several times over: each failure ends it.
func nopeInjects(ctx context.Context, e *experiment, c caller) error {
	began := time.Now()
	passed := 0
	for passed < e.duration {
		for _, node := range e.nodes {
			if err := stop(node, e.length); err != nil {
				return err
			}
		}
		if len(e.probes) > 0 {
			if err := probe(ctx, e, c); err != nil {
				return err
			}
		}
		time.Sleep(time.Duration(e.interval) * time.Second)
		passed = int(time.Since(began).Seconds())
	}
	return nil
}

// ---- daemons that wait after a failure ----

type answer struct{ err error }

func (a *answer) Result() (string, error) { return "", a.err }

type stream interface {
	Group(ctx context.Context, key string) *answer
	Next(ctx context.Context) bool
}

func answers(ctx context.Context, s stream, handle func(string)) {
	for {
		text, err := s.Group(ctx, "k").Result()
		if err != nil {
			time.Sleep(time.Second) // want `RL102`
			continue
		}
		handle(text)
	}
}

// What comes next may take its time.
func nopeNexts(ctx context.Context, s stream, handle func()) {
	for {
		if !s.Next(ctx) {
			time.Sleep(time.Second)
			continue
		}
		handle()
	}
}

func nopeAsksFirst(ctx context.Context, handle func()) {
	for {
		select {
		case <-ctx.Done():
			return
		default:
		}
		handle()
		time.Sleep(time.Second)
	}
}

// The select is the wait.
func nopeWaitsThere(ctx context.Context, tick <-chan time.Time, handle func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		time.Sleep(time.Second)
		handle()
	}
}

// ---- recursion ----

func again(ctx context.Context, c caller, retries int) error {
	err := c.Ping()
	if err == nil || retries == 5 {
		return err
	}
	if retries > 0 {
		<-time.After(time.Second << retries) // want `RL102`
	}
	return again(ctx, c, retries+1)
}

func nopeAgain(ctx context.Context, c caller, retries int) error {
	if err := c.Ping(); err == nil || retries == 5 {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
	}
	return nopeAgain(ctx, c, retries+1)
}

func nopeBefore(ctx context.Context, c caller, depth int) error {
	if depth == 0 {
		time.Sleep(time.Second)
		return c.Ping()
	}
	return nopeBefore(ctx, c, depth-1)
}

func nopeCounts(ctx context.Context, n int, start func(i int)) {
	for i := 0; i < n; i++ {
		select {
		case <-ctx.Done():
			return
		default:
		}
		start(i)
		time.Sleep(time.Second)
	}
}

type requests interface{ New() *http.Request }

// Nobody ends the context of a request that is made here.
func nopeOwnRequest(c *http.Client, r requests) (*http.Response, error) {
	for retries := 0; ; retries++ {
		req := r.New()
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		resp, err := c.Do(req.WithContext(ctx))
		cancel()
		if err == nil || retries == 5 {
			return resp, err
		}
		time.Sleep(time.Second)
	}
}

// Its caller may end what it sends.
func sends(c *http.Client, req *http.Request) (resp *http.Response, err error) {
	for range 15 {
		if resp, err = c.Do(req); err == nil {
			break
		}
		time.Sleep(2 * time.Second) // want `this wait continues after req.Context\(\) has ended`
	}
	return resp, err
}

// ---- by name ----

type retrier struct {
	retryDelayFn func(i int)
	getNodes     func() []string
	sleepUntil   func(done chan struct{})
}

type updater interface {
	Update(ctx context.Context, nodes []string) error
}

// What a function value does with a number is not known.
func nopeDelays(ctx context.Context, r *retrier, u updater) (err error) {
	for i := range 5 {
		if i > 0 {
			r.retryDelayFn(i)
		}
		if err = u.Update(ctx, nil); err == nil {
			break
		}
	}
	return err
}

func nopeSleepsShortly(ctx context.Context, sleep func(time.Duration), u updater) (err error) {
	for range 5 {
		if err = u.Update(ctx, nil); err == nil {
			break
		}
		sleep(time.Millisecond)
	}
	return err
}

func nopeSleepsUntil(ctx context.Context, r *retrier, u updater) (err error) {
	for range 5 {
		r.sleepUntil(make(chan struct{}))
		if err = u.Update(ctx, nil); err == nil {
			break
		}
	}
	return err
}

// What a function value returns may differ each time.
func nopeAsksFor(ctx context.Context, r *retrier, u updater) (err error) {
	for range 5 {
		if err = u.Update(ctx, r.getNodes()); err == nil {
			break
		}
		time.Sleep(250 * time.Millisecond)
	}
	return err
}

var errGone = errors.New("gone")

// A success waits as well.
func nopeGone(ctx context.Context, c caller, clean func()) bool {
	for range 360 {
		text, err := c.Call(ctx, "k")
		if err != nil {
			if errors.Is(err, errGone) {
				return true
			}
		}
		if text != "" {
			clean()
		}
		time.Sleep(10 * time.Second)
	}
	return false
}

type agent struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// Nobody can cancel it before it is returned.
func nopeMakes(c caller) (*agent, error) {
	ctx, cancel := context.WithCancel(context.Background())
	retry := 10
	for {
		err := c.Ping()
		if err == nil {
			break
		}
		if retry--; retry == 0 {
			cancel()
			return nil, err
		}
		time.Sleep(time.Second)
	}
	return &agent{ctx, cancel}, nil
}

// The loop does not use the context.
func nopeMakesFirst(c caller, keep func(context.CancelFunc)) (*agent, error) {
	ctx, cancel := context.WithCancel(context.Background())
	keep(cancel)
	for range 10 {
		err := c.Ping()
		if err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	return &agent{ctx, cancel}, nil
}

func sleepWithContext(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// By its type the function sleeps.
func sleepsInstead(ctx context.Context, c caller, sleep func(time.Duration)) (err error) {
	for range 10 {
		if _, err = c.Call(ctx, "k"); err == nil {
			break
		}
		if sleep != nil {
			sleep(time.Second) // want `\(RL102; named\)`
		} else if err := sleepWithContext(ctx, time.Second); err != nil {
			return err
		}
	}
	return err
}

// It ends when the test does.
func nopeOfTest(t *testing.T, c caller) {
	for attempt := 1; ; attempt++ {
		err := c.Ping()
		if err == nil {
			return
		}
		if t.Context().Err() != nil || attempt > 5 {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
}

type option func(*tried)

type tried struct{ between func(int) }

func betweenAttempts(f func(attempt int)) option { return func(t *tried) { t.between = f } }

func try(f func() error, options ...option) error { return f() }

// That a function runs between attempts is not known.
func nopeWaitsBetween(ctx context.Context, c caller) error {
	return try(func() error {
		_, err := c.Call(ctx, "k")
		return err
	}, betweenAttempts(func(int) {
		time.Sleep(time.Second)
	}))
}

func nopeWaitsBetweenOthers(ctx context.Context, c caller) error {
	return try(func() error {
		return c.Ping()
	}, betweenAttempts(func(int) { time.Sleep(time.Second) }))
}

func exponentialRetry(f func() error) error { return f() }

func onFailure(f func(error)) {}

// Neither is what is done between attempts.
func nopeNamedAlike(ctx context.Context, c caller) error {
	onFailure(func(error) { time.Sleep(time.Second) })
	return exponentialRetry(func() error {
		_, err := c.Call(ctx, "k")
		time.Sleep(time.Second)
		return err
	})
}

type ObjectMeta struct{ Name, Next string }

type volume struct {
	ObjectMeta
	Finalizers []string
}

type volumes interface {
	Get(ctx context.Context, name string) (*volume, error)
	Update(ctx context.Context, v *volume) error
}

var errNoVolume = errors.New("no such volume")

// It waits after each success as well.
func nopeWaitsForItsEnd(ctx context.Context, c volumes, v *volume) bool {
	for range 360 {
		_ = reflect.ValueOf(v)
		now, err := c.Get(ctx, v.Name)
		if err != nil {
			if errors.Is(err, errNoVolume) {
				return true
			}
		}
		if len(now.Finalizers) > 0 {
			now.Finalizers = nil
			c.Update(ctx, now)
		}
		time.Sleep(time.Second)
	}
	return false
}

// Other fields may say how far it is.
func nopeStepsElsewhere(ctx context.Context, c volumes, v *volume) bool {
	for range 360 {
		_ = reflect.ValueOf(v)
		now, err := c.Get(ctx, v.Next)
		if err != nil {
			if errors.Is(err, errNoVolume) {
				return true
			}
		}
		if len(now.Finalizers) > 0 {
			now.Finalizers = nil
			c.Update(ctx, now)
		}
		time.Sleep(time.Second)
	}
	return false
}

// It is given another writer each time.
func nopeTellsMore(ctx context.Context, run func(ctx context.Context, stderr io.Writer) error, stderr io.Writer) error {
	for began := time.Now(); ; {
		buf := &bytes.Buffer{}
		stderr = io.MultiWriter(stderr, buf)
		err := run(ctx, stderr)
		if err == nil {
			return nil
		}
		if time.Since(began) > time.Minute {
			return fmt.Errorf("%w: %s", err, buf)
		}
		time.Sleep(3 * time.Second)
	}
}

// ---- the same several times over ----

type pong struct{ Err, Node string }

func nopePings(ctx context.Context, ping func(context.Context) (*pong, error), w io.Writer) error {
	for range 10 {
		got, err := ping(ctx)
		if err != nil {
			return err
		}
		if got.Err != "" {
			return errors.New(got.Err)
		}
		if _, err := fmt.Fprintln(w, got.Node); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}

// That none was right is an error here.
func pingsUntilFound(ctx context.Context, ping func(context.Context) (*pong, error)) error {
	for range 10 {
		got, err := ping(ctx)
		if err != nil {
			return err
		}
		if got.Node != "" {
			return nil
		}
		time.Sleep(time.Second) // want `this wait continues after ctx has ended`
	}
	return errors.New("not found")
}

// A flag that the answer sets ends it.
func probes(ctx context.Context, url string) error {
	var ready bool
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	began := time.Now()
	now := began
	for !ready && now.Sub(began) <= time.Minute {
		time.Sleep(2 * time.Second) // want `this wait continues after ctx has ended`
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			now = time.Now()
			continue
		}
		if resp.StatusCode >= 200 && resp.StatusCode < 300 {
			ready = true
		}
		resp.Body.Close()
		now = time.Now()
	}
	if !ready {
		return errors.New("not ready")
	}
	return nil
}

// What is told of the answer alone ends nothing.
func nopeTells(ctx context.Context, c caller, stop <-chan struct{}) {
	seen := 0
	for {
		select {
		case <-stop:
			return
		default:
		}
		if v, err := c.Call(ctx, "k"); err == nil && v == "done" {
			seen++
		}
		time.Sleep(time.Second)
	}
}

// The error that a captured variable keeps is no part of what is asked.
func asksForJob(ctx context.Context, call func(func() error) error, url string) (err error) {
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		var body []byte
		err = call(func() error {
			body, err = ask(ctx, url)
			return err
		})
		if err != nil {
			return err
		}
		var job struct{ Status string }
		if err := json.Unmarshal(body, &job); err != nil {
			return err
		}
		if job.Status == "completed" {
			return nil
		}
		time.Sleep(time.Second) // want `this wait continues after ctx has ended`
	}
	return errors.New("not completed")
}

func ask(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
