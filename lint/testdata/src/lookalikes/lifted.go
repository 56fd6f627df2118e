package lookalikes

import (
	"log"
	"time"
)

// ---- a limit that a setting lifts: the caller says which ----

type limited struct {
	tries int
	c     pinger
}

func newLimited(c pinger, tries int) *limited { return &limited{tries: tries, c: c} }

func (l *limited) nopeUnlessZero() error {
	var err error
	for i := 0; i < l.tries || l.tries == 0; i++ { // want `retry of Ping .*RL101; named`
		if err = l.c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func nopeParameterLifts(c pinger, tries int) (err error) {
	for i := 0; i < tries || tries == 0; i++ { // want `retry of Ping .*RL101; named`
		if err = c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func nopeFlagLifts(c pinger, tries int, forever bool) error {
	for i := 1; ; i++ { // want `retry of Ping .*RL101; named`
		err := c.Ping()
		if err == nil || i >= tries && !forever {
			return err
		}
		time.Sleep(time.Second)
	}
}

func nopeLimitFirst(c pinger, tries int) error {
	for i := 1; ; i++ { // want `retry of Ping .*RL101; named`
		err := c.Ping()
		if err == nil || tries > 0 && i >= tries {
			return err
		}
		time.Sleep(time.Second)
	}
}

// The count chooses what is told, and nothing else.
func toldEachTenth(c pinger, strict bool) error {
	for i := 1; ; i++ { // want `RL101`
		err := c.Ping()
		if err == nil || strict {
			return err
		}
		if i%10 == 0 {
			log.Print(err)
		}
		time.Sleep(time.Second)
	}
}
