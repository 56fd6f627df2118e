package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrygen/retrygen/runtime/httpretry"
	"github.com/retrygen/retrygen/storm"
)

// A Service is the server, as a client sees it. Each method is called under the policy
// with the same name.
type Service interface {
	Once(ctx context.Context) error
	Plain(ctx context.Context) error
	Slow(ctx context.Context) error
	Budgeted(ctx context.Context) error
	Guarded(ctx context.Context) error
	Both(ctx context.Context) error
	Limited(ctx context.Context) error
	Adaptive(ctx context.Context) error
	Paced(ctx context.Context) error
	Throttled(ctx context.Context) error
}

// A remote sends a request for each call.
type remote struct {
	client *http.Client
	url    string
	counts *counts
}

func (r *remote) Once(ctx context.Context) error      { return r.get(ctx) }
func (r *remote) Plain(ctx context.Context) error     { return r.get(ctx) }
func (r *remote) Slow(ctx context.Context) error      { return r.get(ctx) }
func (r *remote) Budgeted(ctx context.Context) error  { return r.get(ctx) }
func (r *remote) Guarded(ctx context.Context) error   { return r.get(ctx) }
func (r *remote) Both(ctx context.Context) error      { return r.get(ctx) }
func (r *remote) Limited(ctx context.Context) error   { return r.get(ctx) }
func (r *remote) Adaptive(ctx context.Context) error  { return r.get(ctx) }
func (r *remote) Paced(ctx context.Context) error     { return r.get(ctx) }
func (r *remote) Throttled(ctx context.Context) error { return r.get(ctx) }

func (r *remote) get(ctx context.Context) error {
	r.counts.now().attempts.Add(1)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return err
	}
	res, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return httpretry.CheckStatus(res.StatusCode)
}

// methods are the wrapped methods by their policies.
var methods = map[string]func(*RetryService, context.Context) error{
	"once": (*RetryService).Once, "plain": (*RetryService).Plain, "slow": (*RetryService).Slow,
	"budgeted": (*RetryService).Budgeted, "guarded": (*RetryService).Guarded, "both": (*RetryService).Both,
	"limited": (*RetryService).Limited, "adaptive": (*RetryService).Adaptive, "paced": (*RetryService).Paced,
	"throttled": (*RetryService).Throttled,
}

// counts are the events of each second.
type counts struct {
	begun   time.Time
	seconds [int(length/time.Second) + 1]second
}

type second struct{ calls, attempts, ok, failed atomic.Int64 }

func (c *counts) now() *second {
	return &c.seconds[min(int(time.Since(c.begun)/time.Second), len(c.seconds)-1)]
}

// client makes its share of the calls, and prints what happened in each second as JSON.
func client(address, policy string) int {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	c := &counts{begun: time.Now()}
	service := NewRetryService(&remote{&http.Client{Transport: transport}, "http://" + address, c}, nil)
	method := methods[policy]
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var calls sync.WaitGroup
	next := time.Now()
	for {
		next = next.Add(time.Duration(rand.ExpFloat64() * float64(time.Second) * processes / rate))
		if next.Sub(c.begun) >= length {
			break
		}
		time.Sleep(time.Until(next))
		c.now().calls.Add(1)
		calls.Go(func() {
			err := method(service, ctx)
			switch {
			case err == nil:
				c.now().ok.Add(1)
			case ctx.Err() == nil:
				c.now().failed.Add(1)
			}
		})
	}
	calls.Wait()
	list := make([]storm.RouteSecond, length/time.Second)
	for i := range list {
		s := &c.seconds[i]
		list[i] = storm.RouteSecond{
			Calls: int(s.calls.Load()), Attempts: int(s.attempts.Load()), OK: int(s.ok.Load()), Failed: int(s.failed.Load()),
			P50: mean.Seconds(),
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(list); err != nil {
		fmt.Fprintln(os.Stderr, "storms:", err)
		return 2
	}
	return 0
}

// measure executes a system with processes.
func measure(sys *storm.System, policy, queue string) (*storm.Run, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	server := exec.Command(self, "-serve", queue)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	outputs := make([]bytes.Buffer, processes)
	failed := make([]error, processes)
	var clients sync.WaitGroup
	for i := range processes {
		clients.Go(func() {
			c := exec.Command(self, "-call", strings.TrimSpace(address), "-policy", policy)
			c.Stdout, c.Stderr = &outputs[i], os.Stderr
			failed[i] = c.Run()
		})
	}
	clients.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return merged(sys, outputs)
}

// merged returns the run that the outputs of the clients describe.
func merged(sys *storm.System, outputs []bytes.Buffer) (*storm.Run, error) {
	n := int(sys.Length / time.Second)
	service := storm.ServiceRun{Name: sys.Services[0].Name, Seconds: make([]storm.ServiceSecond, n)}
	route := storm.RouteRun{From: sys.Loads[0].Name, To: service.Name, Seconds: make([]storm.RouteSecond, n)}
	for i := range outputs {
		var list []storm.RouteSecond
		if err := json.Unmarshal(outputs[i].Bytes(), &list); err != nil {
			return nil, fmt.Errorf("the output of a client: %w", err)
		}
		for j := range min(len(list), n) {
			s := &route.Seconds[j]
			s.Calls, s.Attempts = s.Calls+list[j].Calls, s.Attempts+list[j].Attempts
			s.OK, s.Failed, s.P50 = s.OK+list[j].OK, s.Failed+list[j].Failed, list[j].P50
			service.Seconds[j].Offered += list[j].Attempts
		}
	}
	return &storm.Run{Services: []storm.ServiceRun{service}, Routes: []storm.RouteRun{route}}, nil
}
