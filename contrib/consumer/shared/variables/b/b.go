package b

import (
	"context"
	"errors"
)

func Read(ctx context.Context) error  { return nil }
func Other(ctx context.Context) error { return errors.New("down: no connection") }
