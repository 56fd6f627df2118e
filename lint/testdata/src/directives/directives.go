package directives

import "time"

type client interface{ Ping() error }

func reasoned(c client) {
	//retrylint:ignore RL101 the supervisor kills us after a minute
	for c.Ping() != nil {
		time.Sleep(time.Second)
	}
}

func forever(c client) {
	for c.Ping() != nil { //retrylint:forever nothing works without it
		time.Sleep(time.Second)
	}
}

func noReason(c client) {
	//retrylint:ignore RL101 // want `this ignore has no reason: after RL101 write why the code is right \(RL002`
	for c.Ping() != nil {
		time.Sleep(time.Second)
	}
}

func noRule(c client) {
	//retrylint:ignore // want `names no rule.*RL002`
	for c.Ping() != nil { // want `RL101`
		time.Sleep(time.Second)
	}
}

func unused(c client) error {
	//retrylint:ignore RL101 it was a loop once // want `RL101 reports nothing here: remove the comment \(RL001`
	return c.Ping()
}

func misspelt(c client) error {
	//retrylint:ignore RL101: the device answers sooner or later // want `RL101: is not a rule: write RL101, a space, and the reason \(RL001`
	return c.Ping()
}

func several(c client) {
	//retrylint:ignore RL101, RL103 the device answers sooner or later
	for c.Ping() != nil {
		time.Sleep(time.Second)
	}
	//retrylint:ignore RL103,RL101	the device answers sooner or later
	for c.Ping() != nil {
		time.Sleep(time.Second)
	}
}

// Without -enable nobody knows what RL110 would report.
func asleep(c client) error {
	//retrylint:ignore RL110 the device answers sooner or later
	return c.Ping()
}
