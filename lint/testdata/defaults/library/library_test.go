package library

import (
	"testing"
	"time"
)

// The go command stops tests that take too long.
func nopeTest(_ *testing.T, c client) {
	for c.Ping() != nil {
		time.Sleep(time.Second)
	}
}
