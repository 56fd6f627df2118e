package wrappederrors

import (
	stderrors "errors"
	"time"

	"github.com/pkg/errors"
)

type client interface {
	Get(key string) (string, error)
}

// A text before no error is none.
func lastAnswer(c client) error {
	var err error
	for range 5 { // want `when the poll of Get is exhausted, the function returns nil at line \d+, as on success`
		var state string
		if state, err = c.Get("k"); err == nil && state == "ready" {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Wrap(err, "get")
}

func nopeOwn(c client) error {
	for range 5 {
		if state, err := c.Get("k"); err == nil && state == "ready" {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Wrap(errNotReady, "get")
}

var errNotReady = stderrors.New("not ready")
