package unboundedretry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/uuid"
)

type locks interface {
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, from, n int) (items []string, next int, err error)
}

type semaphore struct {
	locks locks
	name  string
	cfg   struct{ batch int }
}

func (s *semaphore) key() string { return "sem/" + s.name }

// A name that is only put together is the same each time.
func (s *semaphore) unlock(ctx context.Context) {
	for { // want `retry of Delete .*RL101, RL104`
		if err := s.locks.Delete(ctx, s.key()); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
}

type namer struct{ made int }

func (n *namer) next() string {
	n.made++
	return fmt.Sprint(n.made)
}

// One that is made up is another.
func nopeMakesUp(ctx context.Context, l locks, n *namer) {
	for {
		if err := l.Delete(ctx, n.next()); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Only a success gets nearer to the batch.
func (s *semaphore) collect(ctx context.Context) {
	for from, n := 0, 0; n < s.cfg.batch; { // missed
		items, next, err := s.locks.List(ctx, from, 10)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		n, from = n+len(items), next
	}
}

// What the first failure sets stays as it is.
func waitsForReady(request func(wait bool) error) {
	wait := false
	for { // missed
		if err := connect(request, wait); err == nil {
			return
		}
		wait = true
	}
}

func connect(request func(bool) error, wait bool) error { return request(wait) }

// Each name is that of a later time.
func nopeRenames(rename func(from, to string) error, dir string, at time.Time) {
	for {
		if err := move(rename, path.Join(dir, at.Format(time.RFC3339))); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
		at = at.Add(time.Second)
	}
}

func move(rename func(from, to string) error, to string) error { return rename("current", to) }

type tracing struct{}

func (tracing) StartSpan(ctx context.Context, name string) (int, context.Context) { return 0, ctx }

// A span is put into a context, and does not end it.
func traced(l locks, t tracing) {
	_, ctx := t.StartSpan(context.Background(), "name")
	for { // want `RL101`
		if err := l.Delete(ctx, "k"); err == nil || isNotFound(err) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func isNotFound(err error) bool { return err.Error() == "not found" }

// The client is made when it is needed first.
func makesOnce(url string, c *http.Client) {
	for { // missed
		if c == nil {
			c = &http.Client{Timeout: time.Second}
		}
		if _, err := c.Get(url); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

type sendOptions struct {
	retry struct {
		backoff interface{ NextBackOff() time.Duration }
	}
}

// What the settings lead to may count.
func nopeCountsElsewhere(c caller, opts *sendOptions) {
	for {
		if err := c.Ping(); err == nil {
			return
		}
		d := opts.retry.backoff.NextBackOff()
		if d == -1 {
			return
		}
		time.Sleep(d)
	}
}

// The limit is that of other errors.
func limitOfOthers(c caller) error {
	for attempt := 0; ; { // want `retry of Ping .*RL101`
		err := c.Ping()
		if err == nil {
			return nil
		}
		if isNotFound(err) {
			time.Sleep(time.Second)
			continue
		}
		if attempt++; attempt > 3 {
			return err
		}
	}
}

// Of one error alone there may be as many as others cause.
func nopeOneErrorIsFree(c caller) error {
	for attempt := 0; ; { // want `retry of Ping .*RL101; named`
		err := c.Ping()
		if err == nil {
			return nil
		}
		if errors.Is(err, errBusy) {
			continue
		}
		if attempt++; attempt > 3 {
			return err
		}
	}
}

// Only one class waits for the end of the context.
func waitsForOneClass(ctx context.Context, c caller) error {
	for { // want `retry of Ping .*RL101`
		err := c.Ping()
		if err == nil {
			return nil
		}
		switch err.Error() {
		case "invalid":
			return err
		case "busy":
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// All classes count, one of them first.
func nopeAllCount(c caller) error {
	for attempt := 0; ; {
		err := c.Ping()
		if err == nil {
			return nil
		}
		if isNotFound(err) {
			time.Sleep(time.Second)
		}
		if attempt++; attempt > 3 {
			return err
		}
	}
}

// What the program chooses, it may choose to end.
func nopeProgramChooses(c caller, more func() bool) error {
	for attempt := 0; ; {
		err := c.Ping()
		if err == nil {
			return nil
		}
		if more() {
			time.Sleep(time.Second)
			continue
		}
		if attempt++; attempt > 3 {
			return err
		}
	}
}

// It has failed, whoever asks: the last block is looked for first.
func nopeAsksTwice(c caller, blocks int) error {
	n := 0
retry:
	err := c.Ping()
	if err != nil && n == blocks-1 {
		return err
	}
	if err != nil {
		n++
		goto retry
	}
	return nil
}

type groups interface {
	GetGroup(id string) (*http.Client, error)
}

// What is not there yet is asked for again, as what failed.
func waitsForGroup(g groups, id string) {
	for { // want `retry of GetGroup .*RL101`
		found, err := g.GetGroup(id)
		if err != nil {
			continue
		}
		if found == nil {
			continue
		}
		return
	}
}

func dials(host string, dial func(string) error) {
	for { // want `RL101`
		u := url.URL{Scheme: "ws", Host: host}
		if err := connectTo(dial, u.String()); err == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

func connectTo(dial func(string) error, to string) error { return dial(to) }

// A name that no other thing has finds nothing that is free.
func proposes(ctx context.Context, l locks) {
	for { // missed
		if err := l.Delete(ctx, "proposal/"+uuid.New().String()); err == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// How many there are to be is set, behind a pointer as well.
type batched struct {
	locks locks
	cfg   *struct{ batch int }
}

func (b *batched) collect(ctx context.Context) (all []string) {
	from := 0
	for len(all) < b.cfg.batch { // missed
		items, next, err := b.locks.List(ctx, from, b.cfg.batch-len(all))
		if err != nil {
			time.Sleep(time.Second) // want `RL102`
			continue
		}
		if len(items) == 0 {
			break
		}
		all, from = append(all, items...), next
	}
	return all
}

type account struct {
	locks locks
	id    string
}

// What is empty until a success sets it ends nothing that fails.
func (a *account) learn() {
	for a.id == "" { // missed
		items, _, err := a.locks.List(context.Background(), 0, 1)
		if err != nil {
			time.Sleep(time.Second)
		} else {
			a.id = items[0]
		}
	}
}

// The loop around has more to do than to try again.
func works(c caller, work <-chan string) {
	for range work {
		for { // want `retry of Ping .*RL101`
			if err := c.Ping(); err == nil {
				break
			}
			time.Sleep(time.Second)
		}
	}
}

// The variables are shared with a goroutine.
func lists(ctx context.Context, l locks, out chan<- []string) error {
	items, _, err := l.List(ctx, 0, 100)
	if err != nil {
		return err
	}
	go func() {
		defer close(out)
		for len(items) > 0 {
			out <- items
			items, _, err = l.List(ctx, 0, 100)
			for err != nil { // want `retry of List .*RL101, RL104`
				time.Sleep(time.Second) // want `RL102`
				items, _, err = l.List(ctx, 0, 100)
			}
		}
	}()
	return nil
}

// What the answer means is read from it, and then it is asked again.
func imports(l locks) error {
	complete := false
	for !complete { // want `retry of List .*RL101`
		items, _, err := l.List(context.Background(), 0, 1)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		var job struct{ Status string }
		if err := json.Unmarshal([]byte(items[0]), &job); err != nil {
			time.Sleep(time.Second)
			continue
		}
		if job.Status == "error" {
			return errors.New("the import has failed")
		}
		complete = job.Status != "pending"
		time.Sleep(time.Second)
	}
	return nil
}

type wanted struct {
	first bool
	name  string
}

// What the first failure takes back stays so.
func allocates(ctx context.Context, l locks, requests <-chan wanted, done func()) {
	for r := range requests {
		for { // missed
			if err := take(l, r.first, r.name); err == nil {
				break
			}
			r.first = false
			time.Sleep(time.Second) // want `RL102`
		}
		done()
	}
}

func take(l locks, first bool, name string) error { return l.Delete(context.Background(), name) }

// The state of what is called moves on.
func nopeMovesOn(l locks, r *wanted) error {
	for {
		if err := take(l, r.first, r.name); err == nil {
			return nil
		}
		r.name += "x"
		time.Sleep(time.Second)
	}
}

// The store is always the same.
func storeOf() locks { return theStore }

var theStore locks

func waitsForStore() {
	for err := storeOf().Delete(context.Background(), "k"); err != nil; err = storeOf().Delete(context.Background(), "k") { // want `retry of Delete .*RL101`
		time.Sleep(3 * time.Second)
	}
}

// A name that is read is not made up.
func nopeReadName(l locks, names interface{ next() string }) {
	for {
		id := uuid.MustParse(names.next())
		if err := l.Delete(context.Background(), id.String()); err == nil {
			return
		}
	}
}

type connectorConfig struct{ TLS bool }

// The second attempt is without, and there is no third.
func nopeFallsBack(cfg *connectorConfig, open func(*connectorConfig) error) error {
	for {
		err := open(cfg)
		if err == nil {
			return nil
		}
		if !cfg.TLS {
			return err
		}
		cfg.TLS = false
	}
}

// It calls itself, and sets what others read.
func nopeVisits(names []string) error {
	var err error
	var visit func(int)
	visit = func(n int) {
		if n > 0 {
			visit(n - 1)
		}
		_, err = fmt.Sscan(names[n])
	}
	for range 3 {
		if err = connectTo(nil, names[0]); err == nil {
			break
		}
		visit(1)
	}
	return err
}

func mount(volume string) {
	for exec.Command("mount", volume).Run() != nil { // want `retry of Run .*\(RL101`
		time.Sleep(time.Second)
	}
}

// A program that is run again as soon as it has failed is supervised.
func nopeRestarted(name string) {
	for {
		cmd := exec.Command(name)
		cmd.Stdout = os.Stdout
		if err := cmd.Run(); err == nil {
			return
		}
	}
}

// The user is asked again.
func nopeAsksItsUser() {
	for exec.Command("sudo", "-v").Run() != nil {
	}
}

// Without its options it is tried once more.
func nopeWithoutOptions(c interface{ Open(options ...string) error }) error {
	options := []string{"compressed"}
	for {
		err := c.Open(options...)
		if err == nil || len(options) == 0 {
			return err
		}
		options = nil
	}
}
