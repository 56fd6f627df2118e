package directcall

import "context"

type client struct{}

func (c *client) order(ctx context.Context, id string) (string, error) { return "", nil }

func (c *client) list(ctx context.Context) error { return nil }

func (c *client) remembered(ctx context.Context, id string, err error) (string, error) {
	return c.order(ctx, id+"-copy")
}

// It has a wrapper of its own.
func readFile(ctx context.Context, name string) ([]byte, error) {
	_, err := new(client).order(ctx, name)
	return nil, err
}

func show(ctx context.Context, c *client) (string, error) {
	return c.order(ctx, "o-1") // want `this call of order bypasses its policy: call retryOrder \(RL507`
}

func load(ctx context.Context) func() {
	return func() {
		readFile(ctx, "a") // want `call retryReadFile`
	}
}

func nopeWrapper(ctx context.Context, c *client) (string, error) {
	return c.retryOrder(ctx, "o-1")
}

// The type is wrapped as a whole: whoever has this one was given it.
func nopeWhole(ctx context.Context, c *client) error { return c.list(ctx) }
