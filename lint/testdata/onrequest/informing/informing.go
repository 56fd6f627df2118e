package informing

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"time"
)

type client interface {
	Ready() bool
	State(name string) (string, error)
}

func poll(c client) {
	for !c.Ready() { // want `this poll ends only on the expected answer: .* \(RL110`
		time.Sleep(time.Second)
	}
}

func pollState(c client) error {
	for {
		state, err := c.State("a") // want `RL110`
		if err != nil {
			return err
		}
		if state == "done" {
			return nil
		}
		time.Sleep(time.Second)
	}
}

// An error that it tolerates is an answer like "not yet".
func pollTolerates(c client) error {
	for state := ""; state != "done"; {
		time.Sleep(time.Second)
		var err error
		state, err = c.State("a") // want `RL110`
		if err != nil && !errors.Is(err, syscall.EAGAIN) {
			return err
		}
	}
	return nil
}

func nopeCounted(c client) {
	for i := 0; i < 10 && !c.Ready(); i++ {
		time.Sleep(time.Second)
	}
}

// It takes what there is, until that is all.
func nopeDrains(use func([]byte), r interface{ Read() ([]byte, bool) }) {
	for {
		time.Sleep(time.Second)
		b, end := r.Read()
		if end {
			return
		}
		use(b)
	}
}

type gate struct{ open bool }

func (g *gate) isOpen() bool { return g.open }

// Another goroutine opens it.
func nopeFlag(g *gate) {
	for !g.isOpen() {
		time.Sleep(time.Second)
	}
}

// It fails when the context has ended.
func nopeGivenContext(ctx context.Context, c interface {
	State(ctx context.Context) (string, error)
}) error {
	for {
		state, err := c.State(ctx)
		if err != nil {
			return err
		}
		if state == "done" {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

func nopeContext(ctx context.Context, c client) {
	for !c.Ready() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

var errConflict = errors.New("conflict")

type record interface {
	Update(key string) error
}

func updates(r record) error {
	for { // want `conflicts of Update are retried at once without a limit: .* \(RL114`
		if err := r.Update("k"); !errors.Is(err, errConflict) {
			return err
		}
	}
}

func interrupted(r record) error {
	for { // want `RL114`
		err := r.Update("k")
		if err == syscall.EINTR {
			continue
		}
		return err
	}
}

func swaps(p *atomic.Int64) {
	for { // want `conflicts of CompareAndSwap .*RL114`
		if old := p.Load(); p.CompareAndSwap(old, old+1) {
			return
		}
	}
}

func nopeLimited(r record) (err error) {
	for range 10 {
		if err = r.Update("k"); !errors.Is(err, errConflict) {
			return err
		}
	}
	return err
}

// RL101 reports what waits.
func waits(r record) error {
	for { // want `retry of Update never stops.*RL101; library`
		if err := r.Update("k"); !errors.Is(err, errConflict) {
			return err
		}
		time.Sleep(time.Second)
	}
}
