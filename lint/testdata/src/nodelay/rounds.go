package nodelay

import (
	"context"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/rpc"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/nodelay/api"
)

func nopeInMemory(c *api.Client) (s string, err error) {
	for range 3 {
		if s, err = c.Known(); err == nil {
			break
		}
	}
	return s, err
}

type tail struct{ began time.Time }

func (t tail) shouldRetry() bool { return time.Since(t.began) < time.Minute }

func untilLate(ctx context.Context, c client, t tail) error {
	for { // want `Call is retried without a wait`
		_, err := c.Call(ctx, "k")
		if err == nil {
			return nil
		}
		if !t.shouldRetry() {
			return err
		}
	}
}

func nopeWaitsFirst(ctx context.Context, c client) bool {
	for range 100 {
		time.Sleep(50 * time.Millisecond)
		state, err := c.Call(ctx, "state")
		if err != nil {
			continue
		}
		if pods, err := c.Call(ctx, state); err == nil && pods == "ready" {
			return true
		}
	}
	return false
}

type watched interface {
	List(ctx context.Context) (string, error)
	Send(ctx context.Context) (string, error)
}

// It makes load, with failures as without.
func nopeMakesLoad(ctx context.Context, s watched, count func(string)) {
	for {
		state, err := s.Send(ctx)
		if err != nil {
			log.Print(err)
			continue
		}
		count(state)
	}
}

// What comes is handled, whether that works or not.
func nopeHandles(ctx context.Context, conn net.Conn, packet []byte, handle func(context.Context, []byte) error) {
	for {
		if _, err := conn.Read(packet); err != nil {
			return
		}
		if err := handle(ctx, packet); err != nil {
			log.Print(err)
			continue
		}
		log.Print("handled")
	}
}

// So many are wanted.
func nopeFills(target string, n int, put func(net.Conn)) {
	for i := 0; i < n; i++ {
		if conn, err := net.Dial("tcp", target); err == nil {
			put(conn)
		}
	}
}

// It takes its time by itself.
func nopeTakesItsTime(c *api.Client) (err error) {
	for range 5 {
		if err = patient(c); err == nil {
			return nil
		}
	}
	return err
}

func patient(c *api.Client) error {
	if _, err := c.Status(); err != nil {
		time.Sleep(time.Second)
		return err
	}
	return nil
}

func withRetries(n int, sleep time.Duration, f func() error) error {
	return withRetriesContext(nil, n, sleep, f)
}

func withRetriesContext(ctx context.Context, n int, sleep time.Duration, f func() error) (err error) {
	for try := 1; ; try++ {
		if ctx != nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			default:
			}
		}
		if err = f(); err == nil || n != 0 && try >= n {
			return err
		}
		time.Sleep(sleep) // want `RL102`
	}
}

func nopeToldToWait(c *api.Client) error {
	return withRetries(5, time.Second, func() error {
		_, err := c.Status()
		return err
	})
}

func nopeWithinTheProgram(c *api.Client) error {
	return withRetries(5, 0, func() error {
		_, err := c.Known()
		return err
	})
}

// What ran out of time has taken its time.
func nopeTimedOut(ctx context.Context, c client, told func(string)) error {
	for n := 0; ; n++ {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		answer, err := c.Call(limited, "k")
		cancel()
		if err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				if n > 10 {
					return nil
				}
				continue
			}
			return err
		}
		told(answer)
		time.Sleep(time.Second)
	}
}

// The second attempt is another.
func nopeAborts(ctx context.Context, end func(ctx context.Context, commit bool) error) (err error) {
	commit := true
	for range 10 {
		if err = end(ctx, commit); err == nil {
			return nil
		}
		commit = false
	}
	return err
}

// What puts the request together is no attempt, though it may fail.
func nopeRequest(ctx context.Context, url string) (err error) {
	for i := 1; i <= 5; i++ {
		req, reqErr := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if reqErr != nil {
			err = reqErr
			continue
		}
		var resp *http.Response
		if resp, err = http.DefaultClient.Do(req); err == nil {
			return resp.Body.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// Whose file is locked by others soon gets it.
func nopeBusy(c *api.Client) (err error) {
	for range 10 {
		if _, err = c.Status(); err == nil || !isBusy(err) {
			return err
		}
	}
	return err
}

func isBusy(err error) bool { return err.Error() == "busy" }

// What it gets over the network, it gets by a context of its own.
func ofItsOwn(c client) (err error) {
	for range 3 { // want `fetches is retried without a wait`
		if err = fetches(c); err == nil {
			return nil
		}
	}
	return err
}

func fetches(c client) error {
	_, err := c.Call(context.TODO(), "k")
	return err
}

// That a closure may count as well makes no attempt wait.
func sharedCount(c *api.Client, each func(func())) (s string, err error) {
	tries := 0
	each(func() { tries++ })
	for ; tries < 5; tries++ { // want `Status is retried without a wait.*RL103`
		if s, err = c.Status(); err == nil {
			return s, nil
		}
	}
	return s, err
}

func nopeAccepts(l net.Listener, handle func(net.Conn)) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			if ne, ok := err.(net.Error); ok && ne.Temporary() {
				time.Sleep(200 * time.Millisecond)
				continue
			}
			return err
		}
		go handle(conn)
	}
}

type queries interface {
	Query(ctx context.Context, q string) *answer
	GetJob(name string) (*job, error)
	UpdateJob(ctx context.Context, j *job) error
}

type answer struct {
	Err  error
	Rows []string
}

type job struct{ size int }

func longer(attempts int) time.Duration { return time.Duration(attempts+rand.IntN(3)) * time.Second }

// Default is used by all, and what is told leaves it alone.
var Default struct{ *api.Client }

var errConnRefused = errors.New("connection refused")

// The deadline of the listener is what it waits for.
func nopeAcceptsInTime(l *net.TCPListener, stop func() bool, handle func(net.Conn)) error {
	for !stop() {
		l.SetDeadline(time.Now().Add(time.Second))
		conn, err := l.Accept()
		if err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() && ne.Temporary() {
				continue
			}
			return err
		}
		go handle(conn)
	}
	return nil
}

// Each round writes to another.
func nopeNextNode(ctx context.Context, nodes interface {
	GetNextNode(string) (*api.Client, error)
	Write(context.Context, *api.Client) error
}) error {
	for i := 0; i < 5; i++ {
		n, err := nodes.GetNextNode("a")
		if err != nil {
			return err
		}
		if err := nodes.Write(ctx, n); err == nil {
			return nil
		}
	}
	return errConflict
}

// What is seen to wait does, whatever its name says.
func mayTryAgain(err error, d time.Duration) bool {
	time.Sleep(d)
	return err != errConflict
}

func nopeVerdictWaits(ctx context.Context, c client) (string, error) {
	for { // want `retry of Call .*RL101; named`
		s, err := c.Call(ctx, "k")
		if err == nil || !mayTryAgain(err, time.Second) {
			return s, err
		}
	}
}

// An array that is kept is no list of arguments.
func keepsArray(c *api.Client) (last [3]any, err error) {
	for i := 0; i < 3; i++ { // want `Status is retried without a wait.*RL103`
		var s string
		if s, err = c.Status(); err == nil {
			return last, nil
		}
		last[0] = s
	}
	return last, err
}

// Its package is that of a client.
func calls(c *rpc.Client, reply any) (err error) {
	for range 5 { // want `Call is retried without a wait`
		if err = c.Call("Arith.Multiply", 1, reply); err == nil {
			break
		}
	}
	return err
}

type backoff interface{ NextBackOff() time.Duration }

type batch struct{ records []string }

type sink interface {
	Put(ctx context.Context, b *batch) (failed []string, err error)
}

type action struct{ status string }

type actions interface {
	GetByURI(ctx context.Context, uri string) (*action, error)
}

// A request with more beside it is one.
type wrapped struct {
	*http.Request
	body io.ReadSeeker
}

func (w *wrapped) reset() error {
	_, err := w.body.Seek(0, io.SeekStart)
	return err
}

type connection interface{ Make(*wrapped) error }

type register interface {
	Get(ctx context.Context, key string) (string, error)
	Swap(ctx context.Context, key, before, after string) (*swapped, error)
	Next(ctx context.Context) (string, error)
}

type swapped struct{ Done bool }

func nopeFirstOfStepsWaits(ctx context.Context, r register, max int) (last error) {
	for i := 0; i < max; i++ {
		before, err := r.Get(ctx, "k")
		if err != nil {
			last = err
			time.Sleep(time.Second) // want `RL102`
			continue
		}
		if answer, err := r.Swap(ctx, "k", before, before+"x"); err == nil && answer.Done {
			return nil
		}
	}
	return last
}

func nopeFirstOfStepsLeaves(ctx context.Context, r register, max int) error {
	for i := 0; i < max; i++ {
		before, err := r.Get(ctx, "k")
		if err != nil {
			return err
		}
		answer, err := r.Swap(ctx, "k", before, before+"x")
		if err != nil {
			return err
		}
		if answer.Done {
			return nil
		}
	}
	return errConflict
}

// Once more may be for a connection that had gone.
func nopeFirstOfStepsTwice(ctx context.Context, r register) (last error) {
	for range 2 {
		before, err := r.Get(ctx, "k")
		if err != nil {
			last = err
			continue
		}
		if answer, err := r.Swap(ctx, "k", before, before+"x"); err == nil && answer.Done {
			return nil
		}
	}
	return last
}

// Each round is about the next of several.
func nopeLooksForOne(ctx context.Context, r register, max int) error {
	for i := 0; i < max; i++ {
		key, err := r.Next(ctx)
		if err != nil {
			log.Print(err)
			continue
		}
		answer, err := r.Swap(ctx, key, "", "x")
		if err != nil || !answer.Done {
			continue
		}
		return nil
	}
	return errConflict
}

// All rounds are wanted.
func nopeCountsWhatIsDone(ctx context.Context, r register, max int) (done int) {
	for i := 0; i < max; i++ {
		before, err := r.Get(ctx, "k")
		if err != nil {
			log.Print(err)
			continue
		}
		if answer, err := r.Swap(ctx, "k", before, before+"x"); err == nil && answer.Done {
			done++
		}
	}
	return done
}

type pool interface {
	Get(ctx context.Context) (register, error)
}

// The next attempt is made on another connection.
func nopeAnotherConnection(ctx context.Context, p pool, c client, max int) (last error) {
	for i := 0; i < max; i++ {
		r, err := p.Get(ctx)
		if err != nil {
			last = err
			continue
		}
		if err := c.Login(ctx); err != nil {
			return err
		}
		answer, err := r.Swap(ctx, "k", "", "x")
		if err != nil {
			last = err
			continue
		}
		if !answer.Done {
			continue
		}
		return nil
	}
	return last
}

type idGenerator interface{ ID() string }

// Another ID each time.
func nopeAnotherID(ctx context.Context, c client, g idGenerator) (string, error) {
	for range 100 {
		id := g.ID()
		_, err := c.Call(ctx, id)
		if err == nil {
			return id, nil
		}
		if !errors.Is(err, errConflict) {
			return "", err
		}
	}
	return "", errConflict
}

type namer interface{ ID() string }

func retrieve(ctx context.Context, url string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, b, err
}

func nopeNumber(ctx context.Context, url string) (all []byte, err error) {
	for {
		n, body, err := retrieve(ctx, url)
		if err != nil {
			return nil, err
		}
		all = append(all, body...)
		if n >= 500 {
			continue
		}
		return all, nil
	}
}

// It waits by itself.
func nopePolls(ctx context.Context, poller interface {
	PollUntilGone(ctx context.Context) error
}) (err error) {
	for range 3 {
		if err = poller.PollUntilGone(ctx); err == nil {
			return nil
		}
	}
	return err
}

// ---- one retry, and how it is counted ----

func isForbidden(err error) bool { return err.Error() == "forbidden" }

func nopeCountsDownFromOne(ctx context.Context, c client) error {
	retries := 1
	for {
		_, err := c.Call(ctx, "k")
		if err == nil {
			return nil
		}
		if !isForbidden(err) || retries == 0 {
			return err
		}
		retries--
	}
}

func nopeTwoLimits(ctx context.Context, c client) (err error) {
	for _, limit := range []time.Duration{time.Minute, time.Hour} {
		ctx, cancel := context.WithTimeout(ctx, limit)
		_, err = c.Call(ctx, "k")
		cancel()
		if err == nil {
			return nil
		}
	}
	return err
}
