package scheduler

import (
	"context"
	"testing"
	"time"
)

type client interface{ Ping(context.Context) error }

// The file makes something for tests, too.
func NewForTest(t *testing.T, c client) { waitsInTest(t.Context(), t, c) }

func waitsInTest(ctx context.Context, _ *testing.T, c client) {
	for range 5 {
		if c.Ping(ctx) == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

func waits(ctx context.Context, c client) {
	for range 5 {
		if c.Ping(ctx) == nil {
			return
		}
		time.Sleep(time.Second) // want `RL102`
	}
}
