package capacity

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/retrygen/retrygen/runtime/hedge"
)

var (
	errBusy         = errors.New("busy")
	running, most   atomic.Int32
	failures, calls atomic.Int32
)

// Query takes some time, and fails once.
func Query(rows int) (int, error) {
	n := running.Add(1)
	defer running.Add(-1)
	most.Store(max(most.Load(), n))
	time.Sleep(time.Millisecond)
	if failures.Add(1) == 1 {
		return 0, errBusy
	}
	return 2 * rows, nil
}

type Client struct{ down bool }

// Find is slow unless it is asked a second time.
func (c *Client) Find(ctx context.Context, name string) (string, int, error) {
	if c.down {
		return "", 0, errors.New("HTTP 503")
	}
	if hedge.Is(ctx) {
		return name, 2, nil
	}
	<-ctx.Done()
	return "", 1, ctx.Err()
}

type Handle struct{ second bool }

func (*Handle) Close() { closed.Add(1) }

var opened, closed atomic.Int32

func closeHandle(h *Handle) { h.Close() }

// Open ignores its context, so that both requests succeed.
func Open(ctx context.Context) (*Handle, error) {
	opened.Add(1)
	if !hedge.Is(ctx) {
		time.Sleep(50 * time.Millisecond)
		return &Handle{}, nil
	}
	time.Sleep(60 * time.Millisecond)
	return &Handle{second: true}, nil
}

type Store interface {
	Order(ctx context.Context, id string) error
}

type store struct{}

func (store) Order(context.Context, string) error { calls.Add(1); return nil }
