package main

import (
	"testing"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func TestFailure(t *testing.T) {
	for want, i := range map[string]admin.StepInfo{
		"": {},
		"attempts exhausted: server_error: status 503": {
			Reason: retry.ErrAttempts, Class: retry.ClassServerError, Error: "status 503",
		},
		"permanent error: status 404": {Reason: retry.ErrPermanent, Error: "status 404"},
		"attempts lost":               {Reason: retry.ErrLost},
	} {
		if got := failure(i).Text; got != want {
			t.Errorf("%+v: %q, want %q", i, got, want)
		}
	}
}

func TestNextAttempt(t *testing.T) {
	now := time.Now()
	owned := admin.RunInfo{Status: storage.StatusOpen, Owner: "o"}
	for _, test := range []struct {
		step  storage.Status
		run   admin.RunInfo
		cause admin.Cause
		want  string
	}{
		{storage.StatusExecuting, owned, admin.CauseExecuting, "for 5s"},
		{storage.StatusExecuting, owned, admin.CauseOrphaned, "its engine is dead"},
		{storage.StatusExecuting, owned, admin.CauseWorker, "its engine is dead"},
		{storage.StatusExecuting, admin.RunInfo{Status: storage.StatusOpen}, admin.CauseCaller, "no engine executes it"},
		{storage.StatusWaiting, owned, admin.CauseStep, "in 2s"},
		{storage.StatusWaiting, admin.RunInfo{Status: storage.StatusPaused}, admin.CausePaused, "in 2s"},
		{storage.StatusWaiting, admin.RunInfo{Status: storage.StatusCanceled}, admin.CauseEnded, ""},
		{storage.StatusWaiting, admin.RunInfo{Status: storage.StatusTimedOut}, admin.CauseEnded, ""},
	} {
		step := admin.StepInfo{Status: test.step, Started: now.Add(-5 * time.Second), NextAt: now.Add(2 * time.Second)}
		s := &session{now: now}
		if got := s.nextAttempt(step, test.run, test.cause); got.Text != test.want {
			t.Errorf("a step that is %v in a run that is %v: got %q, want %q", test.step, test.cause, got.Text, test.want)
		}
	}
}
