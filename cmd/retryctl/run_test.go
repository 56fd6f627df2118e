package main

import (
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/admin"
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
