package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

// The servers are the data centers and the warehouse. They fail on purpose, and keep
// what they have seen: the truth that the records of the job are compared with.
type servers struct {
	*httptest.Server
	kill    int // writes until a worker is killed
	outage  int // writes until a data center disappears
	victims chan string
	gone    chan struct{} // closed when the data center has disappeared

	mu       sync.Mutex
	down     string         // the data center that does not answer
	attempts map[string]int // by attemptID: how often it was seen
	reads    int
	writes   int
	repeated int               // writes whose key was known
	stored   map[string]int    // rows by shard
	inserted map[string]int    // how often a shard was stored
	keys     map[string]string // shards by idempotency key
}

// newServers starts the servers. When as many writes were made as kill says, a
// worker is named in victims. After outage writes, data center south disappears.
func newServers(kill, outage int) *servers {
	s := &servers{
		kill: kill, outage: outage, victims: make(chan string, 1), gone: make(chan struct{}),
		attempts: map[string]int{}, stored: map[string]int{}, inserted: map[string]int{}, keys: map[string]string{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /read", s.read)
	mux.HandleFunc("POST /write", s.write)
	s.Server = httptest.NewServer(mux)
	return s
}

// rowsOf returns how many rows a shard has.
func rowsOf(shard string) int { return 100 + len(shard) }

// read returns the rows of a shard. One of 25 requests is rejected, and all of a
// data center that has disappeared get no response.
func (s *servers) read(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.attempts[r.Header.Get("Attempt")]++
	s.reads++
	rejected, down := s.reads%25 == 0, s.down == r.FormValue("center")
	s.mu.Unlock()
	time.Sleep(10 * time.Millisecond) // the work
	switch {
	case down:
		panic(http.ErrAbortHandler) // closes the connection
	case rejected:
		http.Error(w, "try later", http.StatusServiceUnavailable)
	default:
		fmt.Fprint(w, rowsOf(r.FormValue("shard")))
	}
}

// write stores the rows of a shard, unless it has seen the idempotency key. The
// response to one of 30 requests is lost.
func (s *servers) write(w http.ResponseWriter, r *http.Request) {
	shard, key := r.FormValue("shard"), r.Header.Get("Idempotency-Key")
	rows, err := strconv.Atoi(r.FormValue("rows"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.attempts[r.Header.Get("Attempt")]++
	s.writes++
	if _, known := s.keys[key]; known {
		s.repeated++
	} else {
		s.keys[key], s.stored[shard] = shard, rows
		s.inserted[shard]++
	}
	killed, lost := s.writes == s.kill, s.writes%30 == 0
	if s.writes == s.outage {
		s.down = "south"
		close(s.gone)
	}
	s.mu.Unlock()
	switch {
	case killed: // the worker that has sent this never gets a response
		s.victims <- r.Header.Get("Worker")
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case lost:
		panic(http.ErrAbortHandler)
	default:
		fmt.Fprint(w, rows)
	}
}

// repair lets all data centers answer again.
func (s *servers) repair() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = ""
}

// verify returns an error unless each shard was stored once, no attempt was seen
// twice, and each one that was seen is recorded. It returns the number of attempts,
// and that of the writes that were recognized by their key.
func (s *servers) verify(shards []string, recorded map[string]bool) (attempts, repeated int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, shard := range shards {
		if s.inserted[shard] != 1 || s.stored[shard] != rowsOf(shard) {
			return 0, 0, fmt.Errorf("shard %s was stored %d times, with %d rows: want once, with %d",
				shard, s.inserted[shard], s.stored[shard], rowsOf(shard))
		}
	}
	if len(s.inserted) != len(shards) {
		return 0, 0, fmt.Errorf("%d shards were stored, want %d", len(s.inserted), len(shards))
	}
	for attempt, times := range s.attempts {
		if times != 1 || !recorded[attempt] {
			return 0, 0, fmt.Errorf("attempt %q was executed %d times, recorded: %v", attempt, times, recorded[attempt])
		}
	}
	return len(s.attempts), s.repeated, nil
}
