package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"
)

// A service serves requests with a limited number of workers, in the order of their
// arrival. It does not notice that a caller has gone.
type service struct {
	mu      sync.Mutex
	workers int
	busy    int
	limit   int // of the queue
	queue   []chan struct{}
}

// server serves requests until it is interrupted. The storm begins a time after the first
// line on its standard output.
func server(queue int) int {
	s := &service{workers: workers, limit: queue}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "storms:", err)
		return 2
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true) // a request that is given up costs no connection
	go func() {
		_ = (&http.Server{
			Handler: s, Protocols: &protocols, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1 << 20},
		}).Serve(listener)
	}()
	fmt.Println(listener.Addr())
	time.AfterFunc(begin, func() { s.setWorkers(workers * (10 - int(10*loss)) / 10) })
	time.AfterFunc(begin+lasts, func() { s.setWorkers(workers) })
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	<-interrupt
	return 0
}

func (s *service) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	if s.busy >= s.workers && len(s.queue) >= s.limit {
		s.mu.Unlock()
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	turn := make(chan struct{})
	s.queue = append(s.queue, turn)
	s.dispatch()
	s.mu.Unlock()
	<-turn
	time.Sleep(time.Duration(rand.ExpFloat64() * float64(mean)))
	s.mu.Lock()
	s.busy--
	s.dispatch()
	s.mu.Unlock()
}

// setWorkers changes the number of workers. Those that are busy finish their requests.
func (s *service) setWorkers(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers = n
	s.dispatch()
}

// dispatch lets workers that are idle serve requests. The caller holds mu.
func (s *service) dispatch() {
	for s.busy < s.workers && len(s.queue) > 0 {
		s.busy++
		close(s.queue[0])
		s.queue = s.queue[1:]
	}
}
