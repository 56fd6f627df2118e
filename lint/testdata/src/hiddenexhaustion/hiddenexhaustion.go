package hiddenexhaustion

import (
	"context"
	"errors"
	"log"
	"time"
)

type client interface {
	Call(ctx context.Context, key string) (string, error)
	Ping() error
}

func contextEnded(ctx context.Context, f func() error) error {
	for {
		select {
		case <-ctx.Done():
			return nil // want `this returns nil although f has not succeeded: return an error \(RL109`
		default:
		}
		err := f()
		if err == nil {
			return nil
		}
		if errors.Is(err, errFinal) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// It returns no error at all.
func nopeContextEnded(ctx context.Context, f func() error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		default:
		}
		if f() == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

// Trying a few times and going on may be meant.
func nopeAttemptsSpent(c client) error {
	for range 5 {
		if c.Ping() == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return nil
}

func nopeError(ctx context.Context, f func() error) error {
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f() == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

// It serves until it is told to stop.
func nopeServes(ctx context.Context, f func() error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		default:
		}
		if err := f(); err != nil {
			log.Print(err)
		}
	}
}

// So does this, between the attempts.
func nopeServesInBetween(ctx context.Context, c client, ticks <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
			_, err := c.Call(ctx, "k")
			for err != nil {
				log.Print(err)
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(time.Second):
				}
				_, err = c.Call(ctx, "k")
			}
		}
	}
}

// Whoever reads the log is told.
func nopeBestEffort(c client) error {
	for range 5 {
		if c.Ping() == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	log.Print("gave up")
	return nil
}

func nopeItems(ctx context.Context, c client, keys []string) error {
	for _, key := range keys {
		if _, err := c.Call(ctx, key); err == nil {
			return errors.New("found")
		}
	}
	return nil
}

// After the last busy it goes on as after a success.
func spent(c client) error {
	for i := 0; i <= 5; i++ { // want `when the retries of Ping are exhausted, the function returns nil at line \d+: return the last error \(RL109`
		err := c.Ping()
		if err == nil {
			break
		}
		if errors.Is(err, errBusy) {
			time.Sleep(time.Second)
			continue
		}
		return err
	}
	return nil
}

// The error that is returned is another one of the same name.
func spentShadowed(c client) (err error) {
	for range 3 { // want `when the retries of Ping are exhausted, the function returns err at line \d+, which is never set: assign the last error to it \(RL109`
		if err := prepare(); err != nil {
			return err
		}
		if err := c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

// The last attempt is told by its number.
func nopeLastAttempt(c client) error {
	for i := 0; i < 5; i++ {
		err := c.Ping()
		if err == nil {
			return nil
		}
		if i == 4 {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}

func nopeFlag(c client) error {
	pinged := false
	for i := 0; i < 5; i++ {
		err := c.Ping()
		if err == nil {
			pinged = true
			break
		}
		if !errors.Is(err, errBusy) {
			return err
		}
		time.Sleep(time.Second)
	}
	if !pinged {
		log.Print("gave up")
	}
	return nil
}

func nopeKept(c client) error {
	var last error
	for i := 0; i < 5; i++ {
		if last = c.Ping(); last == nil {
			return nil
		}
		if !errors.Is(last, errBusy) {
			return last
		}
		time.Sleep(time.Second)
	}
	return last
}

// The log knows, the caller does not.
func loggedEachTime(c client) error {
	for i := 0; i < 5; i++ { // want `when the retries of Ping are exhausted, the function returns nil at line [0-9]+: return the last error \(RL109`
		err := c.Ping()
		if err == nil {
			break
		}
		if !errors.Is(err, errBusy) {
			return err
		}
		log.Print(err)
		time.Sleep(time.Second)
	}
	return nil
}

// What it returns besides says how it went.
func nopeAnswer(c client) (bool, error) {
	for i := 0; i < 5; i++ {
		err := c.Ping()
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, errBusy) {
			return false, err
		}
		time.Sleep(time.Second)
	}
	return false, nil
}

func prepare() error { return nil }

var errBusy = errors.New("busy")

type keeper struct {
	c    client
	last error
	errs chan error
}

var lastOfAll error

// Others can ask for what it was.
func (k *keeper) nopeKeeps() error {
	for i := 0; i < 5; i++ {
		err := k.c.Ping()
		if err == nil {
			return nil
		}
		if !errors.Is(err, errBusy) {
			return err
		}
		k.last = err
		time.Sleep(time.Second)
	}
	return nil
}

func (k *keeper) nopeSends() error {
	for i := 0; i < 5; i++ {
		err := k.c.Ping()
		if err == nil {
			return nil
		}
		if !errors.Is(err, errBusy) {
			return err
		}
		k.errs <- err
		time.Sleep(time.Second)
	}
	return nil
}

func nopeKeepsForAll(c client) error {
	for i := 0; i < 5; i++ {
		err := c.Ping()
		lastOfAll = err
		if err == nil {
			return nil
		}
		if !errors.Is(err, errBusy) {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}

// What the deferred closure returns may tell.
func spentBehindDefer(c client, done func()) error {
	defer done()
	for i := 0; i < 5; i++ { // want `when the retries of Ping are exhausted`
		err := c.Ping()
		if err == nil {
			return nil
		}
		if !errors.Is(err, errBusy) {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}

func loggedAtTheEnd(ctx context.Context, c client) error {
	for {
		if ctx.Err() != nil {
			log.Print("given up")
			return nil // want `this returns nil although Ping has not succeeded: return an error \(RL109`
		}
		err := c.Ping()
		if err == nil || errors.Is(err, errFinal) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// The end of the context reads as success here, too.
func goesOn(ctx context.Context, c client) error {
	for ctx.Err() == nil {
		err := c.Ping()
		if err != nil {
			if errors.Is(err, errFinal) {
				return err
			}
			time.Sleep(time.Second) // want `RL102`
		} else {
			break
		}
	}
	print("done")
	return nil // want `this returns nil although Ping has not succeeded: return an error \(RL109`
}

var errFinal = errors.New("final")

func nopeGoesOn(ctx context.Context, c client) error {
	for ctx.Err() == nil {
		if err := c.Ping(); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	_, err := c.Call(ctx, "k")
	return err
}

func nopeAsksBehind(ctx context.Context, c client) error {
	done := false
	for ctx.Err() == nil {
		if err := c.Ping(); err == nil {
			done = true
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !done {
		print("not done")
	}
	return nil
}

// The last case of a select is as any.
func lastCase(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		if errors.Is(err, errFinal) {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil // want `this returns nil although f has not succeeded: return an error \(RL109`
		}
	}
}

func nopeLastCaseFails(ctx context.Context, f func() error) error {
	for {
		if f() == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
