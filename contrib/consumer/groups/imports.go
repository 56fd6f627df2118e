package imports

import "context"

//go:generate retrygen

var run func(ctx context.Context, shard string) (int, error)

func RunShard(ctx context.Context, shard string) (int, error) { return run(ctx, shard) }

func Check(ctx context.Context, shard string) (int, error) { return run(ctx, shard) }
