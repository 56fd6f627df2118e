package policy_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/policy"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/retrytest"
)

// TestPlays plays what each policy of testdata promises with the runtime.
func TestPlays(t *testing.T) {
	files, err := filepath.Glob("../testdata/policies/ok/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	played := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, _, _ := policy.Read(name, text)
		for _, p := range file.Policies {
			for _, play := range p.Plays() {
				played++
				synctest.Test(t, func(t *testing.T) {
					play.Check(t, func(ctx context.Context, f *retrytest.Faults) {
						_, _ = retry.Do(ctx, &p.Policy, f.Op(p.Name))
					})
					if t.Failed() {
						t.Errorf("%s: policy %s: %+v", name, p.Name, play)
					}
				})
			}
		}
	}
	if played < 100 {
		t.Errorf("played %d, which is too few", played)
	}
}

// TestPlaysOfClasses plays what is promised for errors of a class of the file.
func TestPlaysOfClasses(t *testing.T) {
	file, _, _ := policy.Read("retry.yaml", []byte(`
version: 1
errors:
  busy: {http: [409, 423]}
  gone: {http: [404]}
policies:
  read:
    max_attempts: 5
    initial_delay: 1s
    jitter: none
    retry_on: [busy, transient]
    unknown: retry
    per_error:
      busy: {max_attempts: 2, initial_delay: 3s}
`))
	var got []retrytest.Play
	for _, play := range file.Policies[0].Plays() {
		if play.Script == "409..." || play.Script == "unknown..." || play.Script == "404..." || play.Script == "503..." {
			got = append(got, play)
		}
	}
	want := []retrytest.Play{
		{Script: "503...", Fewest: 5, Most: 5, Longest: 15 * time.Second},
		{Script: "unknown...", Fewest: 5, Most: 5, Longest: 15 * time.Second}, // has the policy's own schedule
		{Script: "404...", Fewest: 1, Most: 1},
		{Script: "409...", Fewest: 2, Most: 2, Longest: 3 * time.Second},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
