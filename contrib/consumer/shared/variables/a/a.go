package a

import (
	"context"
	"errors"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// Own is initialized after DefaultShared in the order of the files.
var Own = breaker.New(breaker.Policy{Name: "own", Failures: 1})

func Read(ctx context.Context) error  { return errors.New("down: no connection") }
func Other(ctx context.Context) error { return errors.New("down: no connection") }
