package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// shop is an API that loses the response to each new order, and that can go down.
type shop struct {
	mu     sync.Mutex
	calls  int
	down   bool
	orders []Order
	byKey  map[string]Order // by idempotency key
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	switch {
	case s.down:
		http.Error(w, "down", http.StatusServiceUnavailable)
	case r.Method == http.MethodPost:
		s.create(w, r)
	default:
		s.read(w, strings.TrimPrefix(r.URL.Path, "/orders/"))
	}
}

func (s *shop) create(w http.ResponseWriter, r *http.Request) {
	var in struct{ Item string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Item == "" {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, "an order needs an item")
		return
	}
	key := r.Header.Get("Idempotency-Key")
	order, again := s.byKey[key]
	if !again {
		order = Order{ID: fmt.Sprint(len(s.orders) + 1), Item: in.Item}
		s.orders, s.byKey[key] = append(s.orders, order), order
		// The order is created, but the response is lost.
		http.Error(w, "lost", http.StatusBadGateway)
		return
	}
	_ = json.NewEncoder(w).Encode(order)
}

func (s *shop) read(w http.ResponseWriter, id string) {
	for _, o := range s.orders {
		if o.ID == id {
			_ = json.NewEncoder(w).Encode(o)
			return
		}
	}
	http.Error(w, "no such order", http.StatusNotFound)
}

// goDown makes every further call fail.
func (s *shop) goDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = true
}
