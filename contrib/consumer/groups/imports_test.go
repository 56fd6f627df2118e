package imports

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/job"
)

var shards = strings.Split("abcdefghijklmnopqrst", "")

func TestErrorPolicy(t *testing.T) {
	for _, tt := range []struct{ failing, want string }{
		{"", "all_dcs_reported, 20 results, [], dead []"},
		{"aj", "all_dcs_reported, 18 results, [[a j]], dead [a j]"},
		{"ace", "failure_rate_exceeded (2/4), 2 results, [[a c]], dead [a c]"},
		{"qrst", "breaker_open (failed: 4), 16 results, [[q r] [s t]], dead [q r s t]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			run = func(ctx context.Context, shard string) (int, error) {
				select {
				case <-time.After(time.Second + time.Duration(shard[0])*time.Millisecond): // in the order of the list
				case <-ctx.Done():
					return 0, ctx.Err()
				}
				if strings.Contains(tt.failing, shard) {
					return 0, errors.New("no connection to " + shard)
				}
				return 1, nil
			}
			group := NewImport("job-1")
			var batches [][]string
			group.Observe(func(_ context.Context, e job.Event) {
				if e.Kind == job.EventFailures {
					batches = append(batches, units(e.Failures))
				}
			})
			out, err := job.Run(t.Context(), group.Group, shards, group.RunShard, nil)
			synctest.Wait()
			got := fmt.Sprintf("%v, %d results, %v, dead %v", out.Decision, len(out.Results), batches, units(out.DeadLetters))
			if err != nil || got != tt.want {
				t.Errorf("%s fail: got %s, %v; want %s", tt.failing, got, err, tt.want)
			}
		})
	}
}

func TestStop(t *testing.T) {
	run = func(context.Context, string) (int, error) { return 0, errors.New("no connection") }
	group := NewStrict("job-2")
	out, err := job.Run(t.Context(), group.Group, shards[:1], group.Check, nil)
	if err != nil || out.Reason != job.ReasonUnitFailed || len(out.Errors) != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
}

func units(failures []job.Failure) (list []string) {
	for _, f := range failures {
		list = append(list, f.Unit)
	}
	return list
}
