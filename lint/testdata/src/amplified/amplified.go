// Package amplified allows more attempts than the default.
package amplified

import "time"

const retryAmplification = 16

type client interface{ Ping() error }

func nopeAllowed(c client) (err error) {
	for range 4 {
		if err = fetch(c); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func tooMany(c client) (err error) {
	for range 5 { // want `5 attempts of fetch, which makes 4 at .*, are 20 calls: retry in one place \(RL401`
		if err = fetch(c); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func fetch(c client) (err error) {
	for range 4 {
		if err = c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}
