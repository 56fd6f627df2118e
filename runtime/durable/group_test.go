package durable_test

import (
	"context"
	"testing"

	"github.com/retrygen/retrygen/internal/grouptest"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/job"
)

// The tests that groups in memory pass, too.
func TestGroups(t *testing.T) {
	grouptest.Test(t, func(t *testing.T) grouptest.Carrier {
		e := newEngine(t, memory.New())
		return grouptest.Carrier{Run: func(
			ctx context.Context, g *job.Group, units []string, op func(context.Context, string) (int, error),
			provisional func(job.Outcome[int]),
		) (out job.Outcome[int], err error) {
			err = e.Run(ctx, "job-1", func(ctx context.Context) (err error) {
				out, err = durable.Group(ctx, g, units, op, provisional)
				return err
			})
			return out, err
		}}
	})
}
