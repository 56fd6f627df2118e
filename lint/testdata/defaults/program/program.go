// Program is stopped by its user.
package main

import "time"

type client interface {
	Ping() error
}

func main() { nopeMain(nil) }

func nopeMain(c client) {
	for c.Ping() != nil {
		time.Sleep(time.Second)
	}
}
