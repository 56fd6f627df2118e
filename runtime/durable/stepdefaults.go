package durable

import (
	"context"
	"math"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

// This file defines the meaning of the fields of a StepPolicy, including their defaults.

// maxInterrupted is the number of consecutive interrupted attempts after which a step is
// exhausted. Deployments do not reach it. It ends a step whose attempts always take longer than
// their context allows.
const maxInterrupted = 100

// maxSpread is the maximum default of StepPolicy.ResumeSpread.
const maxSpread = 30 * time.Second

func lostMax(s *genapi.StepPolicy) int {
	if s.LostMax <= 0 {
		return genapi.DefaultLostMax
	}
	return s.LostMax
}

func onLost(s *genapi.StepPolicy) genapi.OnLost {
	switch {
	case s.OnLost != genapi.OnLostDefault:
		return s.OnLost
	case s.Idempotent:
		return genapi.OnLostRetry
	}
	return genapi.OnLostPause
}

// spreadOf returns the time over which overdue retries with the given delay are spread.
func spreadOf(s *genapi.StepPolicy, delay time.Duration) time.Duration {
	switch {
	case s.ResumeSpread < 0:
		return 0
	case s.ResumeSpread > 0:
		return s.ResumeSpread
	}
	return min(delay, maxSpread)
}

// startsRecorded reports whether the start of the first attempt is recorded.
func startsRecorded(s *genapi.StepPolicy) bool {
	return s.Policy != nil && (s.Record == genapi.RecordAttempts || s.Breaker != nil)
}

// breakerName returns the name of the step's breaker for messages.
func breakerName(s *genapi.StepPolicy) string {
	switch {
	case s.Breaker != nil:
		return record.NameBreaker(s.Breaker.Name)
	case s.Shared.Breaker != nil:
		return record.NameBreaker(s.Shared.Breaker.Policy().Name)
	}
	return record.NameBreaker("")
}

// patience returns the time by which a retry may be delayed without parking its run. A run that
// is parked each time it is due would never continue.
func patience(ctx context.Context, s *genapi.StepPolicy) time.Duration {
	d := time.Duration(math.MaxInt64)
	if deadline, limited := ctx.Deadline(); limited {
		d = time.Until(deadline) / 2 // the attempt needs some of the time, too
	}
	if s.ParkAfter > 0 {
		d = min(d, s.ParkAfter)
	}
	return d
}
