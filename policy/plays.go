package policy

import (
	"context"
	"slices"
	"strconv"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/retrytest"
)

// A sample is a failure: the script of a play.
type sample struct {
	script string
	class  retry.Class // of the runtime, or empty
}

// samples are failures that policies may treat differently.
var samples = []sample{
	{"503", retry.ClassServerError},
	{"429", retry.ClassRateLimit},
	{"network", retry.ClassNetwork},
	{"timeout", retry.ClassTimeout},
	{"unknown", retry.ClassUnknown},
	{"404", ""},
	{"permanent", ""},
}

// maxPlayed is the greatest number of calls that a play makes.
const maxPlayed = 1000

// Plays returns what p promises for a call whose attempts all fail. For each kind of
// failure, it returns the number of attempts and the duration of the call. The values
// come from the schedule that [Policy.Explain] prints for this kind of failure, which is
// the schedule of p or of an entry in per_error. A class that the file defines is
// represented by its first status. There are no plays for durable calls or for failures
// that would be retried very often.
//
// A breaker, a budget or a limit may refuse attempts. If p has one of these, only the
// maximum values are promised.
func (p *Policy) Plays() (plays []retrytest.Play) {
	if p.Durable != nil {
		return nil
	}
	for _, s := range p.samples() {
		play, ok := p.play(s.script, s.class)
		if play.Script += "..."; ok {
			plays = append(plays, play)
		}
	}
	if hang, ok := p.hang(); ok {
		plays = append(plays, hang)
	}
	return plays
}

// samples returns the failures that p may treat differently: also the first status of
// each class of the file that p uses.
func (p *Policy) samples() []sample {
	list := slices.Clone(samples)
	for _, c := range p.Classes {
		if len(c.HTTP) == 0 {
			continue
		}
		own := sample{script: strconv.Itoa(c.HTTP[0][0])}
		if !slices.ContainsFunc(list, func(s sample) bool { return s.script == own.script }) {
			list = append(list, own)
		}
	}
	return list
}

// play returns the play in which all attempts fail like a sample, at once.
func (p *Policy) play(script string, class retry.Class) (play retrytest.Play, ok bool) {
	play = retrytest.Play{Script: script, Fewest: 1, Most: 1, Longest: p.PermitWait}
	err, _ := retrytest.Script(script).Begin(context.Background(), "")
	if !p.Retries(err) {
		return play, true
	}
	own := p.scheduleOf(err, class)
	calls, waits, counted := own.most()
	if !counted || calls > maxPlayed {
		return play, false
	}
	play.Most, play.Longest = calls, saturated(waits, p.permits(calls))
	if !p.shares() {
		play.Fewest = own.fewest()
	}
	return play, true
}

// hang returns the play in which all attempts hang until their time is over. It returns
// false if nothing limits their time.
func (p *Policy) hang() (play retrytest.Play, ok bool) {
	calls, waits, counted := p.most()
	total, parts, _ := p.longest(calls, waits, counted)
	if parts == "" || !counted || calls > maxPlayed {
		return play, false
	}
	play = retrytest.Play{Script: "hang...", Fewest: 1, Most: 1, Longest: total}
	// The timeout of an attempt may be retried; that of the call ends it.
	if err, _ := retrytest.Script("timeout").Begin(context.Background(), ""); p.Retries(err) {
		play.Most = calls
	}
	if p.Hedge != nil {
		play.Most *= 2
	}
	return play, true
}

// scheduleOf returns the schedule of an error that p retries as a policy with the limits
// of p. class is its class.
func (p *Policy) scheduleOf(err error, class retry.Class) Policy {
	for _, o := range p.PerError {
		probe := p.Policy // which retries only the class of o
		probe.RetryOn, probe.RetryUnknown = []retry.Class{o.Class}, false
		if probe.Retries(err) {
			return Policy{Name: string(o.Class), Policy: p.Under(o)}
		}
	}
	own := Policy{Name: p.Name, Policy: p.Under(retry.Override{Class: class, Schedule: p.Schedule})}
	own.PerError = nil
	return own
}

// fewest returns the least number of calls, which the longest waits allow. The number is
// right for a policy without schedules of classes.
func (p *Policy) fewest() int {
	var sum, previous time.Duration
	for k := 1; ; k++ {
		if p.MaxAttempts != retry.Unlimited && k >= p.MaxAttempts {
			return k
		}
		_, _, greatest := p.Bounds(k, previous)
		sum = saturated(sum, greatest)
		if bound, _ := p.exceeded(sum); bound != "" || k >= maxPlayed {
			return k
		}
		_, _, previous = p.Schedule.Bounds(k, previous)
	}
}

// shares reports whether other calls may be the reason why an attempt is refused.
func (p *Policy) shares() bool {
	return p.Breaker != "" || p.Budget != "" || p.Concurrency != "" || p.Rate != "" || p.Throttle != ""
}

// permits returns the longest time that a number of attempts wait for permission: at the
// gate, and after refusals that the policy retries.
func (p *Policy) permits(calls int) (total time.Duration) {
	one := p.PermitWait
	if refusals := []retry.Class{retry.ClassBreakerOpen, retry.ClassLimited, retry.ClassRateLimited, retry.ClassThrottled,
		retry.ClassAny}; slices.ContainsFunc(p.RetryOn, func(c retry.Class) bool { return slices.Contains(refusals, c) }) {
		one = saturated(one, p.RetryAfter.Limit())
	}
	for range calls {
		total = saturated(total, one)
	}
	return p.capped(total)
}
