package bareduration

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/bareduration/config"
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

type options struct {
	delay, interval time.Duration
	precision       time.Duration
}

var byDefault = options{delay: 3 * time.Second, interval: time.Minute, precision: time.Millisecond}

// Others are given times with a unit.
func bareFields(o *options, c *config.Config) options {
	o.delay = 10              // want `this is 10 nanoseconds: write 10\*time.Second or 10\*time.Millisecond \(RL207`
	c.Retry.Backoff = 10      // want `RL207`
	c.PollInterval = 30       // want `RL207`
	return options{delay: 50} // want `RL207`
}

// It is multiplied with its unit where it is used.
func nopeScaled(o *options, c *config.Config) *time.Timer {
	o.interval = 30
	c.Timeout = 30
	return time.NewTimer(time.Duration(o.interval) * time.Second)
}

// In which unit it counts is not known, or it is no delay.
func nopeNotKnown(o *options, c *config.Config) {
	o.precision = 100
	c.WaitTimeout = 30
	c.Retry.Backoff = 0
	c.Retry.Max = 10
}

type seconds struct{ timeout, delay time.Duration }

var usual = seconds{timeout: 5 * time.Second, delay: 5 * time.Second}

func (s *seconds) scale() {
	s.timeout *= time.Second
	delay := s.delay
	s.delay = delay * time.Second
}

func nopeScaledInPlace() seconds {
	s := seconds{timeout: 10, delay: 10}
	s.scale()
	return s
}

func countsSeconds(d time.Duration) {
	time.Sleep(time.Duration(d.Seconds())) // want `this uses a number of seconds as nanoseconds: pass the duration itself \(RL207`
}

func nopeCountsSeconds(d time.Duration) {
	time.Sleep(time.Duration(d.Seconds()) * time.Second)
	time.Sleep(time.Duration(d.Nanoseconds()))
}
