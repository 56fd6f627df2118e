package job

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// A step is a report, or a check where both statuses are equal, and the decision
// on it.
type step struct {
	was, is UnitStatus
	at      time.Duration
	want    string
}

// kind names what a decision means.
func kind(d Decision) string {
	return map[[3]bool]string{
		{false, false, false}: "open", {true, false, false}: "complete", {true, false, true}: "success",
		{true, true, true}: "provisional", {false, false, true}: "released",
	}[[3]bool{d.Complete, d.Provisional, d.Success}]
}

func TestProgress(t *testing.T) {
	const (
		end       = 10 * time.Second
		pending   = UnitPending
		succeeded = UnitSucceeded
		failed    = UnitFailed
	)
	effort := func(e BestEffort) GroupPolicy { return GroupPolicy{BestEffort: &e} }
	for name, tt := range map[string]struct {
		policy GroupPolicy
		units  int
		steps  []step
	}{
		"no units": {GroupPolicy{}, 0, []step{{0, 0, 0, "complete all_dcs_reported"}}},
		"no best effort": {GroupPolicy{}, 2,
			[]step{{pending, succeeded, time.Hour, "open waiting_for_all_dcs"},
				{pending, failed, time.Hour, "success all_dcs_reported"}}},
		"all failed": {GroupPolicy{}, 1, []step{{pending, failed, 0, "complete all_dcs_reported"}}},
		"deadline": {effort(BestEffort{MinSuccess: 2, Deadline: end}), 3, []step{
			{pending, succeeded, end - 1, "open waiting"},
			{0, 0, end, "success deadline_expired (completed: 1)"},
		}},
		"nothing at the deadline": {effort(BestEffort{MinSuccess: 2, Deadline: end}), 3,
			[]step{{0, 0, end, "complete deadline_expired (completed: 0)"}}},
		"enough at the deadline": {effort(BestEffort{MinSuccess: 1, Deadline: end}), 3,
			[]step{{pending, succeeded, end, "success min_dcs_reached (1/1)"}}},
		"enough at the deadline, updating": {effort(BestEffort{MinSuccess: 1, Deadline: end, Late: LateUpdate}), 3, []step{
			{pending, succeeded, end, "success min_dcs_reached (1/1)"},
		}},
		"updating": {effort(BestEffort{MinSuccess: 1, Deadline: end, Late: LateUpdate}), 3, []step{
			{pending, succeeded, 1, "provisional min_dcs_reached (1/1)"},
			{0, 0, 2, "released min_dcs_reached (1/1)"},
			{pending, succeeded, 3, "released min_dcs_reached (1/1)"},
			{pending, failed, 4, "success all_dcs_reported"},
		}},
		"updating until the deadline": {effort(BestEffort{MinSuccess: 1, Deadline: end, Late: LateUpdate}), 3, []step{
			{pending, succeeded, 1, "provisional min_dcs_reached (1/1)"},
			{pending, succeeded, end - 1, "released min_dcs_reached (1/1)"},
			{0, 0, end, "success deadline_expired (completed: 2)"},
		}},
		"a success that is withdrawn": {effort(BestEffort{MinSuccess: 1, Deadline: end, Late: LateUpdate}), 3, []step{
			{pending, succeeded, 1, "provisional min_dcs_reached (1/1)"},
			{succeeded, failed, 2, "released min_dcs_reached (1/1)"},
			{0, 0, end, "complete deadline_expired (completed: 0)"},
		}},
		"nothing changes after the end": {effort(BestEffort{MinSuccess: 1, Deadline: end}), 3, []step{
			{pending, succeeded, 1, "success min_dcs_reached (1/1)"},
			{pending, failed, 2, "success min_dcs_reached (1/1)"},
			{0, 0, end, "success min_dcs_reached (1/1)"},
		}},
		"a unit that is requeued": {GroupPolicy{MaxFailures: 2}, 3, []step{
			{pending, failed, 1, "open waiting_for_all_dcs"},
			{pending, failed, 2, "complete max_failures_reached (2/2)"},
			{failed, pending, 3, "open waiting_for_all_dcs"},
			{pending, succeeded, 4, "open waiting_for_all_dcs"},
			{pending, succeeded, 5, "success all_dcs_reported"},
		}},
		"the last unit stops the group": {GroupPolicy{MaxFailures: 1}, 2, []step{
			{pending, succeeded, 1, "open waiting_for_all_dcs"},
			{pending, failed, 1, "complete max_failures_reached (1/1)"},
		}},
		"the rate is above its limit": {GroupPolicy{FailureRate: 0.5, MinUnits: 4}, 9, []step{
			{pending, failed, 1, "open waiting_for_all_dcs"},
			{pending, failed, 1, "open waiting_for_all_dcs"},
			{pending, succeeded, 1, "open waiting_for_all_dcs"},
			{pending, succeeded, 1, "open waiting_for_all_dcs"},
			{pending, failed, 1, "complete failure_rate_exceeded (3/5)"},
		}},
		"a success is the first unit that the rate counts": {GroupPolicy{FailureRate: 0.5, MinUnits: 4}, 9, []step{
			{pending, failed, 1, "open waiting_for_all_dcs"},
			{pending, failed, 1, "open waiting_for_all_dcs"},
			{pending, failed, 1, "open waiting_for_all_dcs"},
			{pending, succeeded, 1, "complete failure_rate_exceeded (3/4)"},
		}},
		"the first failure": {GroupPolicy{OnUnitFailure: FailureStop}, 9, []step{
			{pending, succeeded, 1, "open waiting_for_all_dcs"},
			{pending, failed, 1, "complete unit_failed (failed: 1)"},
		}},
		"a stop after a provisional result": {
			GroupPolicy{OnUnitFailure: FailureStop, BestEffort: &BestEffort{Deadline: end, Late: LateUpdate}}, 9, []step{
				{pending, succeeded, 1, "provisional min_dcs_reached (1/1)"},
				{pending, failed, 1, "success unit_failed (failed: 1)"},
			}},
		"a failure after the deadline": {
			GroupPolicy{OnUnitFailure: FailureStop, BestEffort: &BestEffort{Deadline: end}}, 9, []step{
				{pending, failed, end, "complete unit_failed (failed: 1)"},
			}},
		"a breaker that is open": {
			GroupPolicy{MaxFailures: 3, Breaker: &breaker.Policy{Failures: 2, OpenFor: end}}, 9, []step{
				{pending, failed, 1, "open waiting_for_all_dcs"},
				{pending, failed, 2, "open waiting_for_all_dcs"},
				{pending, succeeded, end, "open waiting_for_all_dcs"},
				{pending, failed, end + 2, "complete breaker_open (failed: 3)"},
			}},
		"a breaker that closes": {
			GroupPolicy{Breaker: &breaker.Policy{Failures: 2, OpenFor: end}}, 9, []step{
				{pending, failed, 1, "open waiting_for_all_dcs"},
				{pending, failed, 2, "open waiting_for_all_dcs"},
				{pending, succeeded, end + 3, "open waiting_for_all_dcs"},
				{pending, failed, end + 4, "open waiting_for_all_dcs"},
				{pending, failed, end + 5, "open waiting_for_all_dcs"},
				{pending, failed, end + 6, "complete breaker_open (failed: 5)"},
			}},
	} {
		p := NewProgress(tt.units)
		for i, s := range tt.steps {
			before := encode(t, p)
			next, d := p.Report(&tt.policy, s.was, s.is, s.at)
			if after := encode(t, p); after != before {
				t.Errorf("%s, step %d: the state has changed in place from %s to %s", name, i, before, after)
			}
			if got := kind(d) + " " + d.String(); got != s.want {
				t.Errorf("%s, step %d: got %s, want %s", name, i, got, s.want)
			}
			if want := float64(next.Succeeded) / float64(max(tt.units, 1)); d.Ratio != want {
				t.Errorf("%s, step %d: ratio %v, want %v", name, i, d.Ratio, want)
			}
			p = Progress{}
			if err := json.Unmarshal([]byte(encode(t, next)), &p); err != nil || encode(t, p) != encode(t, next) {
				t.Errorf("%s, step %d: %+v is %+v after decoding, %v", name, i, next, p, err)
			}
		}
	}
}

// encode returns a state as JSON.
func encode(t *testing.T, p Progress) string {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The JSON form is stored: it must not change.
func TestProgressJSON(t *testing.T) {
	policy := GroupPolicy{Breaker: &breaker.Policy{Failures: 1}}
	p := NewProgress(3)
	for i, want := range []string{
		`{"pending":3}`,
		`{"pending":2,"failed":1,` +
			`"breaker":{"state":"open","failures":1,"open_until":"1970-01-01T00:00:30Z","generation":2}}`,
		`{"pending":1,"failed":2,"ended":"breaker_open",` +
			`"breaker":{"state":"open","failures":1,"open_until":"1970-01-01T00:00:30Z","generation":2}}`,
	} {
		if got := encode(t, p); got != want {
			t.Errorf("%d: got %s, want %s", i, got, want)
		}
		p, _ = p.Report(&policy, UnitPending, UnitFailed, 0)
	}
	for _, text := range []string{`{"ended":"unknown"}`, `{"ended":""}`, `{"ended":1}`} {
		if err := json.Unmarshal([]byte(text), &p); err == nil {
			t.Errorf("%s is accepted: %+v", text, p)
		}
	}
	if text, err := json.Marshal(Progress{Ended: 99}); err == nil {
		t.Errorf("an unknown reason is written: %s", text)
	}
}

// Units that are added open a group that has ended, unless it was stopped.
func TestProgressAdd(t *testing.T) {
	for _, tt := range []struct {
		p     Progress
		units int
		want  string
	}{
		{Progress{Succeeded: 1, Ended: ReasonAllReported}, 2, `{"pending":2,"succeeded":1}`},
		{Progress{Succeeded: 1, Ended: ReasonAllReported}, 0, `{"succeeded":1,"ended":"all_dcs_reported"}`},
		{Progress{Failed: 1, Ended: ReasonUnitFailed}, 2, `{"pending":2,"failed":1,"ended":"unit_failed"}`},
	} {
		if got := encode(t, tt.p.Add(tt.units)); got != tt.want {
			t.Errorf("%+v with %d more: got %s, want %s", tt.p, tt.units, got, tt.want)
		}
	}
}

func TestFailureActionNames(t *testing.T) {
	for a, want := range map[FailureAction]string{
		FailureSkip: "skip", FailureDeadLetter: "dead_letter", FailureStop: "stop", FailureStop + 1: "unknown",
	} {
		if got := a.String(); got != want {
			t.Errorf("FailureAction(%d) is %q, want %q", a, got, want)
		}
	}
}

func TestLateNames(t *testing.T) {
	for l, want := range map[Late]string{LateLog: "log_only", LateUpdate: "update_result", LateUpdate + 1: "unknown"} {
		if got := l.String(); got != want {
			t.Errorf("Late(%d) is %q, want %q", l, got, want)
		}
	}
}
