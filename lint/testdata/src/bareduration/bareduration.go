package bareduration

import (
	"context"
	"net"
	"net/http"
	"time"
)

func sleeps() {
	time.Sleep(5)     // want `this is 5 nanoseconds: write 5\*time.Second or 5\*time.Millisecond \(RL207`
	<-time.After(100) // want `RL207`
}

func limits(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 30) // want `RL207`
}

var client = http.Client{Timeout: 10} // want `RL207`

func fields(c *http.Client, s http.Server) (*net.Dialer, http.Server) {
	c.Timeout = 30                                    // want `this is 30 nanoseconds`
	s.ReadTimeout, s.WriteTimeout = 10, 5*time.Second // want `RL207`
	http.DefaultClient.Timeout = 5                    // want `RL207`
	return &net.Dialer{Timeout: 30, KeepAlive: -1}, s // want `RL207`
}

type settings struct {
	Timeout time.Duration // in seconds
	client  http.Client
}

func fieldOfField(s *settings) {
	s.client.Timeout = 60 // want `RL207`
}

func nopeSettings(s *settings, c *http.Client, server *http.Server) {
	s.Timeout = 30
	time.Sleep(s.Timeout * time.Second)
	c.Timeout = 0
	c.Timeout *= 2
	c.Timeout = 3 * time.Second
	server.MaxHeaderBytes = 1000
	*s = settings{Timeout: 10}
}

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
