// Package hyperscale reads the environment variables that design AD-44 of the hyperscale
// project defines. They override the limits of groups in package job:
//
//	limits, err := hyperscale.Budget(*imports.Policy().Budget, os.LookupEnv)
//	if err != nil {
//		return err
//	}
//	imports.SetBudget(job.NewBudget(limits.Request(retries, perUnit)))
package hyperscale

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/retrygen/retrygen/runtime/job"
)

// Budget returns a copy of p with the limits that four environment variables set:
//
//   - RETRY_BUDGET_DEFAULT sets Retries, and RETRY_BUDGET_MAX sets MaxRetries;
//   - RETRY_BUDGET_PER_WORKFLOW_DEFAULT sets PerUnit, and RETRY_BUDGET_PER_WORKFLOW_MAX
//     sets MaxPerUnit.
//
// lookup is usually [os.LookupEnv]. A variable that is empty or not set changes nothing.
// A limit of [job.NoRetries] is never changed. If a variable is not a whole number of at
// least 1, Budget returns p unchanged and an error that lists every such variable.
func Budget(p job.BudgetPolicy, lookup func(string) (string, bool)) (job.BudgetPolicy, error) {
	changed := p
	err := read(lookup, []variable{
		{"RETRY_BUDGET_DEFAULT", setLimit(&changed.Retries)},
		{"RETRY_BUDGET_MAX", setLimit(&changed.MaxRetries)},
		{"RETRY_BUDGET_PER_WORKFLOW_DEFAULT", setLimit(&changed.PerUnit)},
		{"RETRY_BUDGET_PER_WORKFLOW_MAX", setLimit(&changed.MaxPerUnit)},
	})
	if err != nil {
		return p, err
	}
	return changed, nil
}

// BestEffort returns a copy of b with the settings that four environment variables
// contain:
//
//   - BEST_EFFORT_DEFAULT_MIN_DCS sets MinSuccess;
//   - BEST_EFFORT_DEFAULT_DEADLINE_SECONDS sets Deadline, and
//     BEST_EFFORT_CHECK_INTERVAL_SECONDS sets CheckEvery, both in seconds, such as 300.0;
//   - BEST_EFFORT_LATE_RESULT_POLICY sets Late: log_only or update_result.
//
// lookup is usually [os.LookupEnv]. A variable that is empty or not set changes nothing.
// If a variable has an invalid value, BestEffort returns b unchanged and an error that
// lists every such variable.
func BestEffort(b job.BestEffort, lookup func(string) (string, bool)) (job.BestEffort, error) {
	changed := b
	err := read(lookup, []variable{
		{"BEST_EFFORT_DEFAULT_MIN_DCS", setCount(&changed.MinSuccess)},
		{"BEST_EFFORT_DEFAULT_DEADLINE_SECONDS", setSeconds(&changed.Deadline)},
		{"BEST_EFFORT_LATE_RESULT_POLICY", setLate(&changed.Late)},
		{"BEST_EFFORT_CHECK_INTERVAL_SECONDS", setSeconds(&changed.CheckEvery)},
	})
	if err != nil {
		return b, err
	}
	return changed, nil
}

// A variable is an environment variable that replaces a setting. set returns what
// is wrong with a text, or "".
type variable struct {
	name string
	set  func(text string) (wrong string)
}

// read sets the settings of the variables that are not empty. The error lists every
// variable whose text is wrong.
func read(lookup func(string) (string, bool), variables []variable) error {
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

// setCount returns what sets a number from 1.
func setCount(to *int) func(string) string {
	return func(text string) string {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return "is not a whole number from 1"
		}
		*to = n
		return ""
	}
}

// setLimit returns what sets a number of retries, unless it allows none.
func setLimit(to *int) func(string) string {
	if *to < 0 {
		to = new(int) // the text is checked all the same
	}
	return setCount(to)
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

// setLate returns what sets what happens to late results.
func setLate(to *job.Late) func(string) string {
	return func(text string) string {
		for _, late := range []job.Late{job.LateLog, job.LateUpdate} {
			if text == late.String() {
				*to = late
				return ""
			}
		}
		return "is not log_only or update_result"
	}
}
