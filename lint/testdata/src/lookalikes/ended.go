package lookalikes

import (
	"errors"
	"log"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/lookalikes/zerolog"
)

// ---- what is asked beside the attempts ends the program, or the test ----

type cluster struct {
	t      testing.TB
	until  time.Time
	closed atomic.Bool
}

// As of a harness whose test is given once.
func (c *cluster) inTime(until time.Time, err error) {
	c.t.Helper()
	if time.Now().After(until) {
		c.t.Fatalf("not in time: %v", err)
	}
}

func (c *cluster) nopeTestEnds() {
	until := time.Now().Add(time.Minute)
	for {
		err := ping()
		if err == nil {
			return
		}
		c.inTime(until, err)
		time.Sleep(time.Second)
	}
}

func (c *cluster) late() bool { return time.Now().After(c.until) }

func (c *cluster) check() {
	if c.late() {
		log.Fatal("not in time")
	}
}

func (c *cluster) nopeProgramEnds() {
	for ping() != nil {
		c.check()
		time.Sleep(time.Second)
	}
}

func (c *cluster) exitWhenClosed() {
	if c.closed.Load() {
		log.Fatal("closed")
	}
}

func (c *cluster) nopeFlagEndsProgram() {
	for ping() != nil {
		c.exitWhenClosed()
		time.Sleep(time.Second)
	}
}

// What knows nothing but the error ends nothing while that is the same.
func (c *cluster) onlyWhileDown(err error) {
	if !errors.Is(err, syscall.ECONNREFUSED) {
		c.t.Fatal(err)
	}
}

func (c *cluster) goesOnWhileDown() {
	for { // missed
		err := ping()
		if err == nil {
			return
		}
		c.onlyWhileDown(err)
		time.Sleep(time.Second)
	}
}

func nopeWatchdog() {
	time.AfterFunc(time.Minute, func() { log.Fatal("not in time") })
	for ping() != nil { // want `retry of ping .*RL101; named`
		time.Sleep(time.Second)
	}
}

func tellsAfterAWhile() {
	time.AfterFunc(time.Minute, func() { log.Print("still waiting") })
	for ping() != nil { // want `RL101`
		time.Sleep(time.Second)
	}
}

func nopeWatchdogAsks(c *cluster) {
	watchdog := time.AfterFunc(time.Minute, func() {
		if c.late() {
			c.t.Fatal("not in time")
		}
	})
	defer watchdog.Stop()
	for ping() != nil { // want `retry of ping .*RL101; named`
		time.Sleep(time.Second)
	}
}

// A message that is begun as a fatal one ends the program when it is sent.
func nopeFatalMessage(l *zerolog.Logger) {
	for attempt := 0; ; attempt++ {
		err := ping()
		if err == nil {
			return
		}
		if attempt >= 90 {
			l.Fatal().Err(err).Msg("gave up")
		}
		l.Warn().Err(err).Msg("tried again")
		time.Sleep(time.Second)
	}
}

func warnsOnly(l *zerolog.Logger) {
	for attempt := 0; ; attempt++ { // want `RL101`
		err := ping()
		if err == nil {
			return
		}
		if attempt >= 90 {
			l.Warn().Err(err).Msg("many attempts")
		}
		time.Sleep(time.Second)
	}
}
