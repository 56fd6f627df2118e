package job

import (
	"testing"
	"time"
)

// A step is a report and the decision after it.
type step struct {
	was, is status // equal: no report
	now     time.Duration
	want    string
}

func TestProgress(t *testing.T) {
	const end = 10 * time.Second
	for name, tt := range map[string]struct {
		effort *BestEffort
		units  int
		steps  []step
	}{
		"no units": {nil, 0, []step{{0, 0, 0, "complete all_dcs_reported"}}},
		"no best effort": {nil, 2,
			[]step{{pending, succeeded, time.Hour, "open waiting_for_all_dcs"},
				{pending, failed, time.Hour, "success all_dcs_reported"}}},
		"all failed": {nil, 1, []step{{pending, failed, 0, "complete all_dcs_reported"}}},
		"deadline": {&BestEffort{MinSuccess: 2, Deadline: end}, 3, []step{
			{pending, succeeded, end - 1, "open waiting"},
			{0, 0, end, "success deadline_expired (completed: 1)"},
		}},
		"nothing at the deadline": {&BestEffort{MinSuccess: 2, Deadline: end}, 3,
			[]step{{0, 0, end, "complete deadline_expired (completed: 0)"}}},
		"enough at the deadline": {&BestEffort{MinSuccess: 1, Deadline: end}, 3,
			[]step{{pending, succeeded, end, "success min_dcs_reached (1/1)"}}},
		"enough at the deadline, updating": {&BestEffort{MinSuccess: 1, Deadline: end, Late: LateUpdate}, 3, []step{
			{pending, succeeded, end, "success min_dcs_reached (1/1)"},
		}},
		"updating": {&BestEffort{MinSuccess: 1, Deadline: end, Late: LateUpdate}, 3, []step{
			{pending, succeeded, 1, "provisional min_dcs_reached (1/1)"},
			{0, 0, 2, "released min_dcs_reached (1/1)"},
			{pending, succeeded, 3, "released min_dcs_reached (1/1)"},
			{pending, failed, 4, "success all_dcs_reported"},
		}},
		"updating until the deadline": {&BestEffort{MinSuccess: 1, Deadline: end, Late: LateUpdate}, 3, []step{
			{pending, succeeded, 1, "provisional min_dcs_reached (1/1)"},
			{pending, succeeded, end - 1, "released min_dcs_reached (1/1)"},
			{0, 0, end, "success deadline_expired (completed: 2)"},
		}},
		"a success that is withdrawn": {&BestEffort{MinSuccess: 1, Deadline: end, Late: LateUpdate}, 3, []step{
			{pending, succeeded, 1, "provisional min_dcs_reached (1/1)"},
			{succeeded, failed, 2, "released min_dcs_reached (1/1)"},
			{0, 0, end, "complete deadline_expired (completed: 0)"},
		}},
	} {
		var effort *BestEffort
		if tt.effort != nil {
			e := tt.effort.Effective()
			effort = &e
		}
		p := newProgress(tt.units)
		for i, s := range tt.steps {
			if s.was != s.is {
				p = p.report(s.was, s.is)
			}
			var d Decision
			p, d = p.decide(effort, s.now)
			kind := map[[3]bool]string{
				{false, false, false}: "open", {true, false, false}: "complete", {true, false, true}: "success",
				{true, true, true}: "provisional", {false, false, true}: "released",
			}[[3]bool{d.Complete, d.Provisional, d.Success}]
			if got := kind + " " + d.String(); got != s.want {
				t.Errorf("%s, step %d: got %s, want %s", name, i, got, s.want)
			}
			if want := float64(p.units[succeeded]) / float64(max(tt.units, 1)); d.Ratio != want {
				t.Errorf("%s, step %d: ratio %v, want %v", name, i, d.Ratio, want)
			}
		}
	}
}

// A decision outlives the context if the end of the context cannot have changed
// it.
func TestOutlivesContext(t *testing.T) {
	for _, tt := range []struct {
		d    Decision
		want bool
	}{
		{Decision{Complete: true, Reason: ReasonAllReported, Ratio: 1}, true},
		{Decision{Complete: true, Reason: ReasonAllReported, Ratio: 0.5}, false},
		{Decision{Complete: true, Reason: ReasonEnough, Ratio: 0.5}, true},
		{Decision{Complete: true, Reason: ReasonDeadline, Ratio: 0.5}, true},
		{Decision{Complete: true, Provisional: true, Reason: ReasonEnough, Ratio: 1}, false},
		{Decision{Reason: ReasonWaiting, Ratio: 0.5}, false},
	} {
		if got := tt.d.outlivesContext(); got != tt.want {
			t.Errorf("%+v outlives its context: %v, want %v", tt.d, got, tt.want)
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
