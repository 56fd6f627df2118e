package unboundedretry

import (
	"context"
	"errors"
	"log"
	"os"
	"time"
)

// ---- a context that never ends ----

func asksBackground(c client) error {
	ctx := context.Background()
	for { // want `retry of Ping .*: the context that it asks for never ends; .*\(RL101\)`
		err := c.Ping()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func asksBeforeCall(c client) error {
	ctx := context.TODO()
	for { // want `retry of Call .*never ends`
		select {
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if _, err := c.Call(ctx, "k"); err != nil {
			time.Sleep(time.Second)
			continue
		}
		return nil
	}
}

func cancelsAtEnd(c client) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for { // want `retry of Call .*never ends`
		_, err := c.Call(ctx, "k")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func cancelsInDeferred(c client) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer func() { cancel() }()
	for { // want `retry of Ping .*never ends`
		err := c.Ping()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(time.Second)
	}
}

type tenant struct{}

func asksWithValue(c client) error {
	ctx := context.WithValue(context.Background(), tenant{}, "a")
	for ctx.Err() == nil { // want `retry of Ping .*never ends`
		if err := c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return ctx.Err()
}

func nopeCancelledBySignal(c client, signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { <-signals; cancel() }()
	for {
		err := c.Ping()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func nopeCancelHandedOn(c client, onExit func(func())) error {
	ctx, cancel := context.WithCancel(context.Background())
	onExit(cancel)
	for ctx.Err() == nil {
		if err := c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return ctx.Err()
}

func nopeCancelledWhileOtherRuns(c client, work func()) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if err := c.Ping(); err == nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
	work()
}

func nopeTimeoutOfBackground(c client) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := c.Ping()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// It leaves where the context has not ended: always.
func nopeLeavesAnyway(c client) error {
	ctx := context.Background()
	for {
		err := c.Ping()
		if err == nil || ctx.Err() == nil {
			return err
		}
		time.Sleep(time.Second)
	}
}

func nopeOtherCase(c client, stop <-chan struct{}) error {
	ctx := context.Background()
	for {
		err := c.Ping()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-stop:
			return err
		case <-time.After(time.Second):
		}
	}
}

// ---- tickers ----

func eachTick(c client) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for range ticker.C { // want `retry of Ping .*RL101`
		if err := c.Ping(); err == nil {
			return
		}
	}
}

func eachTickOfNoTicker(c client) {
	for range time.Tick(time.Second) { // want `retry of Ping .*RL101`
		if err := c.Ping(); err != nil {
			continue
		}
		break
	}
}

func nopeTicksForEver(c client) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for range ticker.C {
		if err := c.Ping(); err != nil {
			log.Print(err)
		}
	}
}

func nopeChannelMayBeClosed(c client, ticks <-chan time.Time) {
	for range ticks {
		if err := c.Ping(); err == nil {
			return
		}
	}
}

func nopeTicksAreCounted(c client) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	left := 5
	for range ticker.C {
		if left--; left == 0 || c.Ping() == nil {
			return
		}
	}
}

// ---- counters that never reach their limit ----

func countsAway(c client, max int) error {
	for i := 0; i < max; i-- { // want `retry of Ping .*: "i" goes away from the limit that it is compared with at line \d+; .*\(RL101, RL105\)`
		if err := c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errBusy
}

func countsUpFromAbove(c client, max int) error {
	left := max
	for { // want `"left" goes away from .*\(RL101, RL105\)`
		err := c.Ping()
		if err == nil {
			return nil
		}
		if left++; left <= 0 {
			return err
		}
		time.Sleep(time.Second)
	}
}

func countsOnlySuccess(c client, max int) {
	for attempt := 0; attempt < max; { // want `retry of Ping .*\(RL101\)`
		if err := c.Ping(); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			continue
		}
		attempt++
		return
	}
}

// What the round counts is taken back.
func takesBack(c client, max int) {
	for i := 0; i < max; i++ { // want `retry of Ping .*\(RL101\)`
		err := c.Ping()
		if err == nil {
			return
		}
		log.Print(err)
		i--
		time.Sleep(time.Second)
	}
}

func nopeCountsUp(c client, max int) {
	for i := max; i <= 0; i++ {
		if c.Ping() == nil {
			return
		}
	}
}

func nopeTakesBackLess(c client, max int) {
	for i := 0; i < max; i += 2 {
		if c.Ping() == nil {
			return
		}
		i--
	}
}

func nopeUnsignedWraps(c client) {
	for i := uint(5); i < 100; i-- {
		if c.Ping() == nil {
			return
		}
	}
}

func nopeLimitFollows(c client, limits func() int) {
	for i := 0; i < limits(); i-- {
		if c.Ping() == nil {
			return
		}
	}
}

func nopeTakesBackSometimes(c client, max int) {
	for i := 0; i < max; i++ {
		err := c.Ping()
		if err == nil {
			return
		}
		if errors.Is(err, errBusy) {
			i--
		}
		time.Sleep(time.Second)
	}
}
