package wrappercall

import (
	"context"

	"github.com/retrygen/retrygen/lint/testdata/src/nestedretry/wrapped"
)

func background(ctx context.Context, c *wrapped.Client) error {
	return c.RetryFetch(context.Background()) // want `RetryFetch continues after ctx has ended: pass it that context \(RL501`
}

func dropped(ctx context.Context, c *wrapped.Client) {
	c.RetryFetch(ctx) // want `the error of RetryFetch is ignored: return or handle it \(RL504`
}

func nopeGiven(ctx context.Context, c *wrapped.Client) error {
	if err := c.RetryFetch(ctx); err != nil {
		return err
	}
	_ = c.RetryFetch(ctx)
	return nil
}

// That it is to go on is written.
func nopeDetached(ctx context.Context, c *wrapped.Client) error {
	return c.RetryFetch(context.WithoutCancel(ctx))
}

func nopeBehindTheEnd(ctx context.Context, c *wrapped.Client) error {
	<-ctx.Done()
	return c.RetryFetch(context.Background())
}

func nopeNoOther(c *wrapped.Client) error {
	return c.RetryFetch(context.Background())
}

func nopeNoWrapper(ctx context.Context, c *wrapped.Client) {
	c.Fetch(context.Background())
}
