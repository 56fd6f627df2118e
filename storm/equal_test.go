package storm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/policy"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/storm/internal/wrapped"
)

// TestEqualCode: the calls of a simulation make the same attempts at the same times, and
// end at the same times for the same reasons, as generated wrappers that call a server in
// memory with the time of a synctest bubble.
func TestEqualCode(t *testing.T) {
	text, err := os.ReadFile("internal/wrapped/retry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file, problems := policy.Check("retry.yaml", text)
	if file == nil {
		t.Fatal(problems)
	}
	methods := map[string]func(*wrapped.RetryService, context.Context) error{
		"once": (*wrapped.RetryService).Once, "plain": (*wrapped.RetryService).Plain,
		"budgeted": (*wrapped.RetryService).Budgeted, "guarded": (*wrapped.RetryService).Guarded,
		"patient": (*wrapped.RetryService).Patient, "timed": (*wrapped.RetryService).Timed,
		"mixed": (*wrapped.RetryService).Mixed, "limited": (*wrapped.RetryService).Limited,
		"adaptive": (*wrapped.RetryService).Adaptive, "gated": (*wrapped.RetryService).Gated,
	}
	for _, p := range file.Policies {
		t.Run(p.Name, func(t *testing.T) {
			client, _ := ClientOf(file, p.Name)
			for _, queue := range []int{30, Unlimited} {
				for seed := range uint64(3) {
					compare(t, equalSystem(client, queue), seed, methods[p.Name])
				}
			}
		})
	}
}

// equalSystem returns a system whose service is slow for a time.
func equalSystem(c Client, queue int) *System {
	return &System{
		Services: []Service{{Name: "service", Workers: 10, Time: ExponentialTime(50 * time.Millisecond), Queue: queue}},
		Loads:    []Load{{Name: "clients", Target: Target{"service", c}, Clients: 3, Rate: 150}},
		Events:   []Event{{At: 5 * time.Second, For: 4 * time.Second, Service: "service", Effect: Slowness, Factor: 6}},
		Length:   20 * time.Second,
	}
}

// compare compares a simulation with wrappers.
func compare(t *testing.T, sys *System, seed uint64, method func(*wrapped.RetryService, context.Context) error) {
	t.Helper()
	var want []string
	e := newEngine(sys, seed)
	e.observe = func(c *call, what string) {
		if what == "attempt" {
			what = fmt.Sprint("attempt ", c.state.Attempts+c.state.Lost+1)
		}
		want = append(want, fmt.Sprintf("%014d process %d: %s", e.now, c.process, what))
	}
	if err := e.run(nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	synctest.Test(t, func(t *testing.T) { got = execute(t, sys, seed, method) })
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 5000 {
		t.Errorf("the simulation has %d attempts and ends", len(want))
	}
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("seed %d: line %d (-simulation +wrappers):\n%s", seed, i, cmp.Diff(want[i:min(i+5, len(want))],
				got[i:min(i+5, len(got))]))
		}
	}
	if len(want) != len(got) {
		t.Errorf("seed %d: got %d attempts and ends, want %d", seed, len(got), len(want))
	}
}

// execute makes the calls of a simulation through wrappers, and returns the attempts and
// ends.
func execute(
	t *testing.T, sys *System, seed uint64, method func(*wrapped.RetryService, context.Context) error,
) []string {
	load := &sys.Loads[0]
	s := &server{spec: &sys.Services[0], event: sys.Events[0], times: stream(seed, "times service"), begun: time.Now()}
	processes := make([]*wrapped.RetryService, load.Clients)
	for i := range processes {
		processes[i] = wrapped.NewRetryService(&remote{s, i}, wrapped.NewShared())
	}
	end := time.NewTimer(sys.Length)
	random := stream(seed, "load clients")
	pause := func() time.Duration { return time.Duration(random.ExpFloat64() / load.Rate * 1e9) }
	next := time.NewTimer(pause())
	for {
		select {
		case <-end.C:
			s.mu.Lock()
			defer s.mu.Unlock()
			return slices.Clone(s.log)
		case <-next.C:
			next.Reset(pause())
			process := random.IntN(load.Clients)
			go func() {
				err := method(processes[process], t.Context())
				reason := ""
				if failed, ok := errors.AsType[*retry.Error](err); ok {
					reason = string(failed.Reason)
				} else if err != nil {
					reason = string(retry.ErrAttempts) // of a policy without retries: the error is unchanged
				}
				s.note(process, "end "+reason)
			}()
		}
	}
}

// A remote is a Service that calls the server from a process.
type remote struct {
	*server
	process int
}

func (r *remote) Once(ctx context.Context) error     { return r.call(ctx, r.process) }
func (r *remote) Plain(ctx context.Context) error    { return r.call(ctx, r.process) }
func (r *remote) Budgeted(ctx context.Context) error { return r.call(ctx, r.process) }
func (r *remote) Guarded(ctx context.Context) error  { return r.call(ctx, r.process) }
func (r *remote) Patient(ctx context.Context) error  { return r.call(ctx, r.process) }
func (r *remote) Timed(ctx context.Context) error    { return r.call(ctx, r.process) }
func (r *remote) Mixed(ctx context.Context) error    { return r.call(ctx, r.process) }
func (r *remote) Limited(ctx context.Context) error  { return r.call(ctx, r.process) }
func (r *remote) Adaptive(ctx context.Context) error { return r.call(ctx, r.process) }
func (r *remote) Gated(ctx context.Context) error    { return r.call(ctx, r.process) }

// A server is a service of the simulation with real timers and goroutines. It shares no
// code with the engine.
type server struct {
	mu    sync.Mutex
	spec  *Service
	event Event
	times *rand.Rand
	begun time.Time
	busy  int
	queue []chan struct{}
	log   []string
}

// note adds a line to the log.
func (s *server) note(process int, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf("%014d process %d: %s", time.Since(s.begun), process, what))
}

func (s *server) call(ctx context.Context, process int) error {
	s.note(process, fmt.Sprint("attempt ", retry.AttemptNumber(ctx)))
	s.mu.Lock()
	if s.busy == s.spec.Workers && len(s.queue) >= s.spec.Queue {
		s.mu.Unlock()
		select {
		case <-time.After(time.Millisecond):
			return statusError(503)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	done := make(chan struct{})
	if s.busy < s.spec.Workers {
		s.start(done)
	} else {
		s.queue = append(s.queue, done)
	}
	s.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start serves a request. s.mu is held.
func (s *server) start(done chan struct{}) {
	s.busy++
	factor := 1.0
	if now := time.Since(s.begun); s.event.At <= now && now < s.event.At+s.event.For {
		factor = s.event.Factor
	}
	time.AfterFunc(time.Duration(s.times.ExpFloat64()*s.spec.Time.Mean().Seconds()*factor*1e9), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(done)
		s.busy--
		if len(s.queue) > 0 {
			first := s.queue[0]
			s.queue = s.queue[1:]
			s.start(first)
		}
	})
}

// A statusError is an answer with an HTTP status.
type statusError int

func (e statusError) Error() string   { return fmt.Sprintf("status %d", int(e)) }
func (e statusError) StatusCode() int { return int(e) }
