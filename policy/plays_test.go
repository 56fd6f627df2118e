package policy_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

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
