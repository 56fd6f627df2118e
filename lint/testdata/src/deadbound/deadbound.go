package deadbound

import "log"

type caller interface{ Ping() error }

func frozen(c caller) {
	for err := c.Ping(); err != nil; { // want `nothing in this loop assigns to the error that it waits for: call again in the loop, and count the attempts \(RL105\)`
		log.Print(err)
	}
}

func shadowed(c caller) {
	err := c.Ping()
	for err != nil { // want `RL105`
		err := c.Ping()
		log.Print(err)
	}
}

func nopeAssigned(c caller) {
	for err, attempt := c.Ping(), 0; err != nil && attempt < 5; err = c.Ping() {
		log.Print(err)
		attempt++
	}
}

func otherWayOut(c caller) {
	for err := c.Ping(); err != nil; { // want `\(RL101, RL103\)`
		if c.Ping() == nil {
			return
		}
	}
}

func nopeShared(c caller, err error, later func(*error)) {
	later(&err)
	for err != nil {
		log.Print("waiting")
	}
}
