package breaker

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A hold decides what calls may do, and the state machine goes on as before: (, ) and |
// hold the breaker open for 3s, closed for 3s, and no longer. A sample that is refused is a -.
func TestHold(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy Policy
		steps  string
		admits string // the steps, with - for refused attempts
		want   []string
	}{
		{"open", Policy{}, "s(s...s", "s(-...s", []string{
			"0s closed-open held 0 until 3s",
			"3s open-closed hold ended 0",
		}},
		{"open, with a window", Policy{FailureRate: 0.5, MinCalls: 4}, "sfs(s...f", "sfs(-...f", []string{
			"0s closed-open held 0 until 3s",
			"3s open-closed hold ended 0",
			"3s closed-open failure rate 1 until 33s",
		}},
		{"ended early", Policy{}, "(.|s", "(.|s", []string{
			"0s closed-open held 0 until 3s",
			"1s open-closed hold ended 0",
		}},
		{"closed: failures open the breaker when it ends", Policy{Failures: 2}, ")fffff...s", ")fffff...-", []string{
			"3s closed-open hold ended 2 until 30s",
		}},
		{"closed: probes close the breaker", Policy{Failures: 1, OpenFor: time.Second}, ")f..s.s", ")f..s.s", nil},
		{"closed: while it is escalated", Policy{EscalateAfter: 1}, "f)s.s..s", "f)s.s..-", []string{
			"0s closed-escalated consecutive failures 1",
			"0s escalated-closed held 1",
			"3s closed-escalated hold ended 1",
		}},
		{"replaced", Policy{}, "(s)s|s", "(-)s|s", []string{
			"0s closed-open held 0 until 3s",
			"0s open-closed held 0",
		}},
		{"nothing to end", Policy{}, "s|s", "s|s", nil},
		{"open while open by itself", Policy{Failures: 1, OpenFor: time.Second}, "f(..s.s", "f(..-.s", []string{
			"0s closed-open consecutive failures 1 until 1s",
			"3s open-half-open open time passed 1",
			"3s half-open-closed probes succeeded 0",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := New(tt.policy)
				got, admits := changesOf(b), ""
				for _, step := range tt.steps {
					switch until := time.Now().Add(3 * time.Second); step {
					case '(':
						b.HoldOpen(until)
					case ')':
						b.HoldClosed(until)
					case '|':
						b.EndHold()
					default:
						if take(b, string(step), 0) != "" {
							step = '-'
						}
					}
					admits += string(step)
				}
				if admits != tt.admits {
					t.Errorf("admitted %s, want %s", admits, tt.admits)
				}
				if !slices.Equal(*got, tt.want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(*got, "\n"), strings.Join(tt.want, "\n"))
				}
			})
		})
	}
}

// An attempt that was admitted before the hold counts.
func TestHoldKeepsAttempts(t *testing.T) {
	b := New(Policy{Failures: 1})
	p, _ := b.Admit()
	b.HoldOpen(time.Now().Add(time.Hour))
	b.Record(p, Failure)
	if state, until := b.Outlook(); state != Open || time.Until(until) < 30*time.Minute {
		t.Errorf("%v until %v while it is held", state, until)
	}
	b.EndHold()
	if state, until := b.Outlook(); state != Open || time.Until(until) > 30*time.Minute {
		t.Errorf("%v until %v after the hold, want OpenFor", state, until)
	}
}
