package job

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// A variable is an environment variable that replaces a setting. set returns what
// is wrong with a text, or "".
type variable struct {
	name string
	set  func(text string) (wrong string)
}

// readEnv sets the settings of the variables that are not empty. The error lists
// every variable whose text is wrong.
func readEnv(lookup func(string) (string, bool), variables []variable) error {
	var errs []error
	for _, v := range variables {
		text, _ := lookup(v.name)
		if text == "" {
			continue
		}
		if wrong := v.set(text); wrong != "" {
			errs = append(errs, fmt.Errorf("%s: %q %s", v.name, text, wrong))
		}
	}
	return errors.Join(errs...)
}

// FromEnv returns a copy of b with the settings of four environment variables:
//
//   - BEST_EFFORT_DEFAULT_MIN_DCS is MinSuccess;
//   - BEST_EFFORT_DEFAULT_DEADLINE_SECONDS is Deadline, and
//     BEST_EFFORT_CHECK_INTERVAL_SECONDS is CheckEvery, in seconds, as 300.0;
//   - BEST_EFFORT_LATE_RESULT_POLICY is Late: log_only or update_result.
//
// lookup is usually [os.LookupEnv]. A variable that is empty or not set changes
// nothing. If a variable has no value of its setting, FromEnv returns b unchanged
// and an error that lists every such variable.
func (b BestEffort) FromEnv(lookup func(string) (string, bool)) (BestEffort, error) {
	changed := b
	err := readEnv(lookup, []variable{
		{"BEST_EFFORT_DEFAULT_MIN_DCS", func(text string) string {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return "is not a whole number from 1"
			}
			changed.MinSuccess = n
			return ""
		}},
		{"BEST_EFFORT_DEFAULT_DEADLINE_SECONDS", setSeconds(&changed.Deadline)},
		{"BEST_EFFORT_LATE_RESULT_POLICY", func(text string) string {
			for late, name := range lateNames {
				if text == name {
					changed.Late = Late(late)
					return ""
				}
			}
			return "is not log_only or update_result"
		}},
		{"BEST_EFFORT_CHECK_INTERVAL_SECONDS", setSeconds(&changed.CheckEvery)},
	})
	if err != nil {
		return b, err
	}
	return changed, nil
}

// setSeconds returns what sets a duration to a number of seconds.
func setSeconds(to *time.Duration) func(string) string {
	return func(text string) string {
		n, err := strconv.ParseFloat(text, 64)
		d := n * float64(time.Second)
		if err != nil || !(d >= 1 && d < math.MaxInt64) { // NaN is neither
			return "is not a number of seconds above 0"
		}
		*to = time.Duration(d)
		return ""
	}
}

// Request returns a copy of b with the settings that a job asks for. A number that
// is zero or negative keeps the number of b. Deadlines above [MaxDeadline] are clamped
// to it when the group runs.
func (b BestEffort) Request(minSuccess int, deadline time.Duration) BestEffort {
	b.MinSuccess = positiveOr(minSuccess, b.MinSuccess)
	b.Deadline = positiveOr(deadline, b.Deadline)
	return b
}

// SetBestEffort replaces the best effort of the policy for this job, as
// [Group.Policy] then returns. Nil lets the group wait for all units.
func (g *Group) SetBestEffort(b *BestEffort) { g.policy.BestEffort = b }
