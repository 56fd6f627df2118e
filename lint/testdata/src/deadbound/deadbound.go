package deadbound

import "log"

type client interface{ Ping() error }

func frozen(c client) {
	for err := c.Ping(); err != nil; { // want `nothing in this loop assigns to the error that it waits for: call again in the loop, and count the attempts \(RL105\)`
		log.Print(err)
	}
}

func shadowed(c client) {
	err := c.Ping()
	for err != nil { // want `RL105`
		err := c.Ping()
		log.Print(err)
	}
}

func nopeAssigned(c client) {
	for err, attempt := c.Ping(), 0; err != nil && attempt < 5; err = c.Ping() {
		log.Print(err)
		attempt++
	}
}

func otherWayOut(c client) {
	for err := c.Ping(); err != nil; { // want `\(RL101, RL103\)`
		if c.Ping() == nil {
			return
		}
	}
}

func nopeShared(c client, err error, later func(*error)) {
	later(&err)
	for err != nil {
		log.Print("waiting")
	}
}
