package unboundedretry

import (
	"log"
	"time"
)

// The counter decides what is logged, and nothing else.
func countsForLog(c caller) {
	tries := 0
	for { // want `retry of Ping never stops: "tries" is incremented at line 15 but no exit depends on it`
		if c.Ping() == nil {
			return
		}
		tries++
		if tries > 5 {
			log.Print("still no answer")
		}
		time.Sleep(time.Second)
	}
}

// A loop that runs when the function returns is a loop.
func deferred(c caller) {
	defer func() {
		for { // want `retry of Ping never stops`
			if c.Ping() == nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
}
