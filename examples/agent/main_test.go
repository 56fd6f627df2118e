package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// TestRun checks the output of the example.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		DefaultShared = NewShared()
		var out strings.Builder
		run(observe(t.Context(), &out), &out)
		for _, want := range []string{
			`ask: attempt 2: status 529 \(overloaded\), retrying in`,
			`use: attempt 1: connection refused \(network\), retrying in`,
			`ask: attempt 1: status 429 \(rate_limit\), retrying in [34]\dms`,
			`done: 1 note with three sources\n`,
			`done: 1 note with two sources\n`,
			`ask: attempt 1: status 401 \(account\), stopping: escalated`,
			`escalated, needs a person: `,
		} {
			if !regexp.MustCompile(want).MatchString(out.String()) {
				t.Errorf("the output does not match %s", want)
			}
		}
		if t.Failed() {
			t.Log(out.String())
		}
	})
}

var update = flag.Bool("update", false, "rewrite testdata")

// TestRunOutOfTime checks the output of an agent whose step is captured and
// resumed.
func TestRunOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		DefaultShared = NewShared()
		var out bytes.Buffer
		if err := runOutOfTime(observe(t.Context(), &out), &out, t.TempDir()); err != nil {
			t.Error(err)
		}
		golden := filepath.Join("testdata", "timeout.golden")
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || out.String() != string(want) {
			t.Errorf("got\n%s\nwant\n%s\nerror %v", out.String(), want, err)
		}
	})
}

// TestScopes: a call has at most what is left of the scope around it.
func TestScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		DefaultShared = NewShared()
		limits := map[string]time.Duration{}
		model := spy(func(ctx context.Context, prompt string) (string, error) {
			at, _ := ctx.Deadline()
			limits[prompt] = time.Until(at)
			return "spy", nil
		})
		agent := NewAgent(model, nil, "one")
		_, err := agent.RetryRun(t.Context(), "goal")
		if err == nil || limits["one: goal"] != 30*time.Second {
			t.Errorf("an attempt has %v, error %v; want 30s", limits["one: goal"], err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := agent.RetryRun(ctx, "soon"); err == nil || limits["one: soon"] != 10*time.Second {
			t.Errorf("an attempt has %v, error %v; want what the caller has left", limits["one: soon"], err)
		}
		var clamped time.Duration
		ctx = retry.WithScopeTimeout(t.Context(), "flow", time.Hour)
		ctx = retry.WithObserver(ctx, func(_ context.Context, e retry.Event) {
			clamped = max(clamped, e.Timeout)
		})
		if _, err := agent.RetryRun(ctx, "long"); err == nil || clamped != time.Hour {
			t.Errorf("an hour for the flow is clamped: %v, error %v", clamped, err)
		}
	})
}

type spy func(context.Context, string) (string, error)

func (s spy) Complete(ctx context.Context, prompt string) (string, error) { return s(ctx, prompt) }
