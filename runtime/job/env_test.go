package job

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBestEffortFromEnv(t *testing.T) {
	own := BestEffort{MinSuccess: 4, Deadline: time.Minute}
	for name, tt := range map[string]struct {
		env  map[string]string
		want BestEffort
		err  string
	}{
		"nothing": {nil, own, ""},
		"empty":   {map[string]string{"BEST_EFFORT_DEFAULT_MIN_DCS": ""}, own, ""},
		"defaults of AD-44": {map[string]string{
			"BEST_EFFORT_DEFAULT_MIN_DCS": "1", "BEST_EFFORT_DEFAULT_DEADLINE_SECONDS": "300.0",
			"BEST_EFFORT_LATE_RESULT_POLICY": "log_only", "BEST_EFFORT_CHECK_INTERVAL_SECONDS": "5.0",
		}, BestEffort{1, 5 * time.Minute, LateLog, 5 * time.Second}, ""},
		"fractions": {map[string]string{
			"BEST_EFFORT_LATE_RESULT_POLICY": "update_result", "BEST_EFFORT_CHECK_INTERVAL_SECONDS": "0.25",
		}, BestEffort{4, time.Minute, LateUpdate, 250 * time.Millisecond}, ""},
		"wrong": {map[string]string{
			"BEST_EFFORT_DEFAULT_MIN_DCS": "0", "BEST_EFFORT_DEFAULT_DEADLINE_SECONDS": "NaN",
			"BEST_EFFORT_LATE_RESULT_POLICY": "drop", "BEST_EFFORT_CHECK_INTERVAL_SECONDS": "5s",
		}, own, "BEST_EFFORT_DEFAULT_MIN_DCS: \"0\" is not a whole number from 1\n" +
			"BEST_EFFORT_DEFAULT_DEADLINE_SECONDS: \"NaN\" is not a number of seconds above 0\n" +
			"BEST_EFFORT_LATE_RESULT_POLICY: \"drop\" is not log_only or update_result\n" +
			"BEST_EFFORT_CHECK_INTERVAL_SECONDS: \"5s\" is not a number of seconds above 0"},
		"too long": {map[string]string{"BEST_EFFORT_DEFAULT_DEADLINE_SECONDS": "1e300"}, own,
			"BEST_EFFORT_DEFAULT_DEADLINE_SECONDS: \"1e300\" is not a number of seconds above 0"},
	} {
		got, err := own.FromEnv(func(name string) (string, bool) { text, ok := tt.env[name]; return text, ok })
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, tt)
		}
	}
}

// A job asks for best effort where its policy has none, and for other numbers.
func TestBestEffortOfJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup(GroupPolicy{}, "job")
		effort := BestEffort{MinSuccess: 3, Deadline: time.Hour}.Request(0, 10*time.Second)
		if effort.MinSuccess != 3 {
			t.Errorf("a request of none asks for %d successes", effort.MinSuccess)
		}
		effort = effort.Request(2, 0)
		g.SetBestEffort(&effort)
		start := time.Now()
		outcome, err := Run(t.Context(), g, []string{"a", "b"}, func(ctx context.Context, unit string) (string, error) {
			if unit == "b" {
				<-ctx.Done()
				return "", errors.New("lost")
			}
			return unit, nil
		}, nil)
		if took := time.Since(start); err != nil || outcome.Reason != ReasonDeadline || took != 10*time.Second {
			t.Errorf("%v after %v, %v", outcome.Reason, took, err)
		}
	})
}
