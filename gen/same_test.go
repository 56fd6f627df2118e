package gen

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// TestSame generates the same bytes in the same order, whatever the order of
// what it is given and however much runs at once.
func TestSame(t *testing.T) {
	files := map[string]string{}
	var patterns []string
	for i := range 12 {
		dir := fmt.Sprintf("p%d", i)
		patterns = append(patterns, "./"+dir)
		files[dir+"/retry.yaml"] = `version: 1
breakers: {b: {}, a: {}}
budgets: {z: {ratio: 0.1}, y: {ratio: 0.2}}
errors: {odd: {is: [io.EOF]}, even: {is: [net/http.ErrNotSupported], as: ["*net/http.ProtocolError"]}}
policies:
  slow: {breaker: b, budget: z, jitter: full, timeout: 20s, retry_on: [odd, even]}
  fast: {breaker: a, budget: y, jitter: full}
bind:
  Store: {policy: slow, methods: {Put: fast}}
  net/http.RoundTripper: fast
  io.ReadWriteSeeker: {policy: fast, idempotent: true}
  Get: slow
`
		files[dir+"/p.go"] = "package " + dir + `

import ("context"; "net/http"; "net/url"; "time")

type Store interface {
	Put(context.Context, *http.Request, url.URL, time.Time) error
	Get(context.Context, map[string]http.Header) (*url.URL, error)
}

func Get(context.Context) error { return nil }
`
	}
	m := newModule(t, files)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want []Output
	for i, procs := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(procs)
		rand.Shuffle(len(patterns), func(i, j int) { patterns[i], patterns[j] = patterns[j], patterns[i] })
		result, err := Generate(t.Context(), Config{Dir: m.dir, Patterns: patterns})
		if err != nil || len(result.Failed) > 0 {
			t.Fatalf("error %v, problems %v", err, result.Problems)
		}
		if i == 0 {
			want = result.Files
		}
		if !slices.EqualFunc(result.Files, want,
			func(a, b Output) bool { return a.Path == b.Path && slices.Equal(a.New, b.New) }) || len(want) != 12 {
			t.Errorf("GOMAXPROCS=%d, patterns %q: not what was generated before:\n%s", procs, patterns, result.Diff())
		}
	}
}
