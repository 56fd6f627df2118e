package bareduration

import (
	"context"
	"net/http"
	"time"
)

func sleeps() {
	time.Sleep(5)     // want `this is 5 nanoseconds: write 5\*time.Second, or time.Millisecond \(RL207\)`
	<-time.After(100) // want `RL207`
}

func limits(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 30) // want `RL207`
}

var client = http.Client{Timeout: 10} // want `RL207`

const tick = 50

func nopeUnits(d time.Duration) {
	time.Sleep(5 * time.Second)
	time.Sleep(time.Duration(5) * time.Second)
	time.Sleep(d)
	time.Sleep(tick)
}

func nopeNone() *time.Timer {
	time.Sleep(0)
	time.Sleep(1)
	return time.NewTimer(-1)
}

var nopeServer = http.Server{ReadTimeout: 5 * time.Second, MaxHeaderBytes: 1000}

func nopeOther() { wait(5) }

func wait(time.Duration) {}
