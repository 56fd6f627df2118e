package clients

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	retry "github.com/retrygen/retrygen/runtime"
)

// A wanted is what should follow an error.
type wanted string

const (
	permanent wanted = "permanent" // it is not retried
	transient wanted = "transient" // it is retried
	throttled wanted = "throttled" // it is retried, and belongs to rate_limit
	conflict  wanted = "conflict"  // the transaction has to be repeated: the call may be retried or not
)

// A client is one source of errors.
type client struct {
	name     string
	failures []failure
}

// A failure is an error that a client returns, or nil if the client loses it.
type failure struct {
	name string
	want wanted
	err  error
}

// allClients returns the sources of errors, each of which makes its errors itself.
func allClients(t *testing.T) []client {
	t.Helper()
	return slices.Concat(webClients(t), cloudClients(t), databaseClients(t), queueClients(), systemClients(t))
}

// A stage is what a policy file says about errors.
type stage struct {
	name     string
	policies []*retry.Policy // without retry_on, and with retry_on: [transient]
	throttle *retry.Policy   // with retry_on: [rate_limit]

	// The numbers of clients whose errors all have the wanted result, and of errors.
	// They may only increase.
	clients, errors int
}

// stages are the files that the table of README.md compares.
var stages = []stage{
	handwritten("without `clients`, `match_text: false`", retry.MatchNone, 14, 169),
	handwritten("without `clients`, `match_text: status`", retry.MatchStatus, 26, 200),
	{"`clients` with all presets, `match_text: status`", []*retry.Policy{&policyRead, &policyStrict}, &policyThrottled,
		61, 275},
}

// handwritten returns the stage of a file without clients, of a package that
// depends on gRPC.
func handwritten(name string, text retry.MatchText, clients, errors int) stage {
	policy := func(on ...retry.Class) *retry.Policy {
		return &retry.Policy{RetryOn: on, MatchText: text, Facts: grpcCode}
	}
	return stage{name, []*retry.Policy{policy(), policy(retry.ClassTransient)}, policy(retry.ClassRateLimit), clients,
		errors}
}

// grpcCode is what retrygen generates for such a package.
func grpcCode(err error) (retry.Facts, bool) {
	s, ok := status.FromError(err)
	return retry.Facts{GRPC: uint32(s.Code())}, ok
}

// right reports whether the policies decide about an error as wanted.
func (s *stage) right(f failure) bool {
	switch {
	case f.err == nil:
		return false
	case f.want == conflict:
		return true
	case f.want == throttled && !s.throttle.Retries(f.err):
		return false
	}
	wrapped := fmt.Errorf("call: %w", f.err)
	return !slices.ContainsFunc(s.policies, func(p *retry.Policy) bool {
		return p.Retries(f.err) != (f.want != permanent) || p.Retries(wrapped) != (f.want != permanent)
	})
}

var update = flag.Bool("update", false, "rewrite the table of README.md")

// TestSurvey counts the clients about whose errors policies decide as wanted, and
// compares the counts with the table of README.md.
func TestSurvey(t *testing.T) {
	all := allClients(t)
	var table strings.Builder
	total := 0
	for _, c := range all {
		total += len(c.failures)
	}
	fmt.Fprintf(&table, "| policy file | clients right, of %d | errors right, of %d |\n|---|---|---|\n", len(all), total)
	for _, s := range stages {
		clients, errors := 0, 0
		for _, c := range all {
			wrong := 0
			for _, f := range c.failures {
				if s.right(f) {
					errors++
					continue
				}
				wrong++
				if c.name != "resty v2" && c.name != "go-retryablehttp" && s.throttle == &policyThrottled {
					t.Errorf("with presets, %s of %s is not %s: %T %v", f.name, c.name, f.want, f.err, f.err)
				}
			}
			if wrong == 0 {
				clients++
			}
		}
		if clients < s.clients || errors < s.errors {
			t.Errorf("%s: %d clients and %d errors are right, want %d and %d", s.name, clients, errors, s.clients, s.errors)
		}
		fmt.Fprintf(&table, "| %s | %d | %d |\n", s.name, clients, errors)
	}
	compareTable(t, table.String())
}

// compareTable compares a table with the one in README.md.
func compareTable(t *testing.T, want string) {
	t.Helper()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), "| policy file |")
	if !found {
		t.Fatal("README.md has no table of policy files")
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	text := before + want + "\n" + after
	if *update {
		if err := os.WriteFile("README.md", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if text != string(page) {
		t.Errorf("README.md is stale: go test . -update; the table is\n%s", want)
	}
}
