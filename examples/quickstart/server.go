package main

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"sync"
	"time"
)

// service is a weather service with scripted responses.
type service struct {
	mu   sync.Mutex
	next map[string][]func(http.ResponseWriter, *http.Request) // by city, in order
}

func newService() *service {
	return &service{next: map[string][]func(http.ResponseWriter, *http.Request){
		"Oslo":   {ok(4)},
		"Bergen": {fail(503), fail(502), ok(9)},
		"Lima":   {busy("1"), ok(22)},
		"Quito":  {slow, ok(15)},
		"Atlant": {fail(404)},
		"Cairo":  {fail(500), fail(500), fail(500), fail(500), fail(500)},
	}}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	city := path.Base(r.URL.Path)
	s.mu.Lock()
	answer := fail(404)
	if queue := s.next[city]; len(queue) > 0 {
		answer, s.next[city] = queue[0], queue[1:]
	}
	s.mu.Unlock()
	answer(w, r)
}

func ok(celsius int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"city": %q, "celsius": %d}`, path.Base(r.URL.Path), celsius)
	}
}

func fail(status int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

func busy(retryAfter string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", retryAfter)
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// slow responds after a second, which is later than any attempt waits.
func slow(w http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-time.After(time.Second):
	}
}

// diskJournal is a Journal whose disk is always full.
type diskJournal struct{}

func (diskJournal) Append(string) error { return errors.New("disk full") }
func (diskJournal) Len() int            { return 0 }
