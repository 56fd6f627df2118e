package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/internal/vectors"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestVectors moves what fails too often to the dead letters, says which of these
// are worth a retry, and counts attempts as Prodigy does.
func TestVectors(t *testing.T) {
	vectors.Walk(t, "runtime/durable", map[string]any{
		"dlq_move": moveVector, "dlq_reprocess_eligible": eligibleVector(admin.EligibleReprocess),
		"dlq_manual_review": eligibleVector(admin.EligibleReview), "retry_state_summary": summaryVector,
	})
}

// moveVector: an item becomes a dead letter with the failure after its last retry.
func moveVector(t *testing.T, in struct {
	Failures int `json:"failure_count"`
	Retries  int `json:"max_retries"`
}, want bool) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		ctx, cancel := context.WithCancel(p.ctx)
		defer cancel()
		var j journal
		_ = p.Run(ctx, "job", oneStep(letterPolicy("item", in.Retries+1), func(ctx context.Context) (int, error) {
			if j.add(ctx).Attempt == in.Failures {
				time.AfterFunc(time.Millisecond, cancel)
			}
			return 0, errors.New("exited with code 1")
		}))
		wanted := storage.StatusWaiting
		if want {
			wanted = storage.StatusDead
		}
		if s := wantStep(t, p.Engine, "job", "item", wanted); s.Failures != in.Failures {
			t.Errorf("got %d failures, want %d", s.Failures, in.Failures)
		}
	})
}

func eligibleVector(e admin.Eligibility) func(*testing.T, string, bool) {
	return func(t *testing.T, text string, want bool) {
		synctest.Test(t, func(t *testing.T) {
			p := startProcess(t, memory.New())
			err := p.run("job", oneStep(letterPolicy("item", 2), func(context.Context) (int, error) {
				return 0, errors.New(text)
			}))
			wantError(t, err, retry.ErrAttempts)
			s := wantStep(t, p.Engine, "job", "item", storage.StatusDead)
			if got := s.Eligibility == e; got != want {
				t.Errorf("%q: got %q", text, s.Eligibility)
			}
		})
	}
}

func summaryVector(t *testing.T, in struct {
	Outcomes []string `json:"cmd_2_outcomes"`
	Attempts int
}, want struct {
	Attempts int  `json:"attempt_count"`
	Max      int  `json:"max_attempts"`
	Open     bool `json:"breaker_open"`
}) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		s := careful("cmd_2", in.Attempts, time.Second)
		s.Breaker = &breaker.Policy{Name: "cmd_2", Failures: 5} // Prodigy's threshold
		err := p.run("job", oneStep(s, func(ctx context.Context) (int, error) {
			if info, _ := durable.Current(ctx); in.Outcomes[info.Attempt-1] == "f" {
				return 0, errors.New("exited with code 1")
			}
			return 1, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		if got := wantStep(t, p.Engine, "job", "cmd_2", storage.StatusSucceeded); got.Attempts != want.Attempts ||
			s.Policy.MaxAttempts != want.Max {
			t.Errorf("got %d of %d attempts, want %+v", got.Attempts, s.Policy.MaxAttempts, want)
		}
		open := false
		for b, err := range p.Admin().Breakers(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			open = open || b.State != breaker.Closed
		}
		if open != want.Open {
			t.Errorf("an open breaker: %v, want %v", open, want.Open)
		}
	})
}
