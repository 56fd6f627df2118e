package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	const in = `goos: linux
BenchmarkCall/Retry/direct-2   	1000	 9.0 ns/op	 2.000 cpu-ns/op	 0 B/op	 0 allocs/op
BenchmarkCall/Retry/direct-2   	1000	 9.0 ns/op	 3.000 cpu-ns/op	 0 B/op	 0 allocs/op
BenchmarkCall/Retry/direct-2   	1000	 9.0 ns/op	 2.500 cpu-ns/op	 0 B/op	 0 allocs/op
BenchmarkCall/Retry/cenkalti-backoff-v7	1000	 9.0 ns/op	 250.0 cpu-ns/op	 8 B/op	 4 allocs/op
BenchmarkCall/Breaker/direct   	1000	 9.0 ns/op	 2.000 cpu-ns/op	 0 B/op	 0 allocs/op
BenchmarkCall/Breaker/gobreaker	1000	 9.0 ns/op	 5.000 cpu-ns/op	 0 B/op	 1 allocs/op
BenchmarkParallel8/Breaker/gobreaker-8	1000	 9.0 ns/op	 20.00 cpu-ns/op	 0 B/op	 0 allocs/op
BenchmarkStatic/retrygen	1000	 9.0 ns/op	 20.00 cpu-ns/op	 0 B/op	 0 allocs/op
BenchmarkLimits/fixed/8/retrygen-2	1000	 9.0 ns/op	 20.00 cpu-ns/op	 0 B/op	 0 allocs/op
PASS
`
	const want = `| | success | with breaker and budget | one failure, no delay | permanent error | attempt timeout | caller's deadline sooner | breaker | breaker, 8 goroutines | failure-rate breaker | failure-rate breaker, 8 goroutines | budget | all of it |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
| direct | 2.5 ns, 0 | | | | | | 2 ns, 0 | | | | | |
| cenkalti-backoff-v7 | 100×, 4 | | | | | | | | | | | |
| gobreaker | | | | | | | 2.5×, 1 | 20 ns, 0 | | | | |

| | concurrency limit | 8 goroutines | 16 goroutines in turn | adaptive limit | 8 goroutines | rate limit | 8 goroutines | throttle, healthy | 8 goroutines | throttle, some failures | 8 goroutines |
|---|---|---|---|---|---|---|---|---|---|---|---|
| retrygen | | 20 ns, 0 | | | | | | | | | |
`
	var out, errs strings.Builder
	if status := run(strings.NewReader(in), &out, &errs); status != 0 || errs.Len() > 0 {
		t.Errorf("status %d: %s", status, errs.String())
	}
	if got := strings.ReplaceAll(out.String(), "  ", " "); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, in := range []string{"", "BenchmarkCall/Retry/direct 1000 9.0 ns/op oops x\n"} {
		if status := run(strings.NewReader(in), &out, &errs); status != 2 {
			t.Errorf("status %d for %q", status, in)
		}
	}
}
