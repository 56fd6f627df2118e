package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/httpretry"
)

//go:generate go tool retrygen .

// A Receipt is the response of the bank to a payment.
type Receipt struct {
	Order  string `json:"order"`
	Number int    `json:"number"`
}

// A Bank is the client of a payment service.
type Bank struct{ URL string }

// Charge pays an order. It returns an *httpretry.StatusError for a response other
// than 200.
func (b *Bank) Charge(ctx context.Context, orderID string, cents int) (Receipt, error) {
	body, err := json.Marshal(map[string]any{"order": orderID, "cents": cents})
	if err != nil {
		return Receipt{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL, bytes.NewReader(body))
	if err != nil {
		return Receipt{}, err
	}
	// The bank recognizes a repeated request by the key. All attempts of a step have
	// the same key, even in different processes.
	req.Header.Set("Idempotency-Key", retry.IdempotencyKey(ctx))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Receipt{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Receipt{}, &httpretry.StatusError{Code: resp.StatusCode}
	}
	var r Receipt
	return r, json.NewDecoder(resp.Body).Decode(&r)
}

// A service is the server of the bank. Of every ten requests, it rejects three and
// loses the response to one after the payment was made.
type service struct {
	*httptest.Server

	mu       sync.Mutex
	requests int
	repeated int            // requests whose key was known
	lost     int            // responses
	charges  map[string]int // by order
	keys     map[string]Receipt
}

func newService() *service {
	s := &service{charges: map[string]int{}, keys: map[string]Receipt{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.charge))
	return s
}

func (s *service) charge(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Order string `json:"order"`
		Cents int    `json:"cents"`
	}
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	time.Sleep(30 * time.Millisecond) // so that the client is often killed during a request
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	switch s.requests % 10 {
	case 2, 5:
		http.Error(w, "try later", http.StatusServiceUnavailable)
		return
	case 8:
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	receipt, known := s.keys[key]
	if known {
		s.repeated++
	} else {
		receipt = Receipt{Order: order.Order, Number: len(s.keys) + 1}
		s.keys[key] = receipt
		s.charges[order.Order]++
	}
	if s.requests%10 == 4 {
		s.lost++
		panic(http.ErrAbortHandler) // the payment was made, but the client gets no response
	}
	_ = json.NewEncoder(w).Encode(receipt)
}

// verify returns an error unless each of n orders was charged once.
func (s *service) verify(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.charges) != n {
		return fmt.Errorf("%d orders were charged, want %d", len(s.charges), n)
	}
	for order, times := range s.charges {
		if times != 1 {
			return fmt.Errorf("order %s was charged %d times", order, times)
		}
	}
	return nil
}
