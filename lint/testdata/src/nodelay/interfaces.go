package nodelay

import (
	"context"
	"net/http"
	"time"
)

// All that implement it leave the process.
type keyed interface {
	load(key string) (string, error)
}

type httpStore struct{ c *http.Client }

func (s httpStore) load(key string) (string, error) {
	resp, err := s.c.Get("http://localhost/" + key)
	if err != nil {
		return "", err
	}
	return resp.Status, resp.Body.Close()
}

func loads(s keyed) (text string, err error) {
	for range 5 { // want `load is retried without a wait: .*RL103; library`
		if text, err = s.load("k"); err == nil {
			return text, nil
		}
	}
	return "", err
}

// One of them has it in memory.
type source interface {
	fetch(ctx context.Context, key string) (string, error)
}

type memorySource map[string]string

func (m memorySource) fetch(_ context.Context, key string) (string, error) {
	if text, ok := m[key]; ok {
		return text, nil
	}
	return "", errConflict
}

func (s httpStore) fetch(_ context.Context, key string) (string, error) { return s.load(key) }

func nopeMemory(ctx context.Context, s source) (text string, err error) {
	for range 5 {
		if text, err = s.fetch(ctx, "k"); err == nil {
			return text, nil
		}
	}
	return "", err
}

// It waits by itself.
type slow interface {
	ask() error
}

type slowClient struct{ c *http.Client }

func (s *slowClient) ask() error {
	resp, err := s.c.Get("http://localhost/")
	if err != nil {
		time.Sleep(time.Second)
		return err
	}
	return resp.Body.Close()
}

func nopeSlow(s slow) (err error) {
	for range 5 {
		if err = s.ask(); err == nil {
			return nil
		}
	}
	return err
}
