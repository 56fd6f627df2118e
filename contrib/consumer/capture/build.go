package build

import "context"

func Build(ctx context.Context) error { return hang(ctx) }

func Ask(ctx context.Context) (string, error) { return "", hang(ctx) }

func Charge(ctx context.Context) error { return hang(ctx) }

func Use(ctx context.Context) error { return hang(ctx) }

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
