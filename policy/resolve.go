package policy

import (
	"slices"

	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// What settings come to: laid over those that they inherit, and written out as
// the runtime's model.

// over lays s over the settings below it.
func (s settings) over(below settings) settings {
	s.schedule = s.schedule.over(below.schedule)
	lay(&s.delayBudget, below.delayBudget)
	lay(&s.maxElapsed, below.maxElapsed)
	lay(&s.attemptTimeout, below.attemptTimeout)
	lay(&s.timeout, below.timeout)
	lay(&s.scope, below.scope)
	lay(&s.retryOn, below.retryOn)
	lay(&s.abortOn, below.abortOn)
	lay(&s.breaker, below.breaker)
	lay(&s.budget, below.budget)
	lay(&s.nested, below.nested)
	if !s.noPerError {
		s.perError, s.noPerError = layClasses(s.perError, below.perError), below.noPerError
	}
	return s
}

func (s schedule) over(below schedule) schedule {
	lay(&s.maxAttempts, below.maxAttempts)
	lay(&s.backoff, below.backoff)
	lay(&s.initialDelay, below.initialDelay)
	lay(&s.maxDelay, below.maxDelay)
	lay(&s.jitter, below.jitter)
	lay(&s.retryAfter, below.retryAfter)
	lay(&s.onExhausted, below.onExhausted)
	return s
}

// layClasses lays the schedules of classes over those below, class by class.
func layClasses(above, below []classSchedule) []classSchedule {
	list := slices.Clone(above)
	for _, b := range below {
		i := slices.IndexFunc(list, func(a classSchedule) bool { return a.class == b.class })
		switch {
		case i < 0:
			list = append(list, b)
		case !list[i].alone:
			list[i].schedule, list[i].alone = list[i].schedule.over(b.schedule), b.alone
		}
	}
	return list
}

func lay[T any](o *option[T], below option[T]) {
	if !o.set {
		*o = below
	}
}

// fileClasses are the classes of a file as its policies need them. Policies
// share them: none is changed.
type fileClasses struct {
	models []retry.ErrorClass
	order  map[retry.Class]int
	act    bool // some have an action, which holds for every policy
}

func classesOf(list []ErrorClass) (c fileClasses) {
	c.order = map[retry.Class]int{}
	for i, e := range list {
		c.order[retry.Class(e.Name)] = i
		c.models = append(c.models, e.model())
		c.act = c.act || e.Action != retry.AsPolicy
	}
	c.models = slices.Clip(c.models)
	return c
}

// policy writes the settings out as the runtime's model, with every default.
func (s settings) policy(name string, f *File) Policy {
	p := s.schedule.model(retry.Policy{
		Name: name, DelayBudget: s.delayBudget.value, MaxElapsed: s.maxElapsed.value,
		AttemptTimeout: s.attemptTimeout.value, Timeout: s.timeout.value,
		Nested: s.nested.value,
	})
	for _, scope := range f.Scopes {
		if scope.Name != s.scope.value {
			continue
		}
		p.Scope, p.HardLimit = scope.Name, scope.HardLimit
		if !s.timeout.set || s.timeout.null {
			p.Timeout = scope.Timeout
			if p.Timeout == 0 {
				p.Timeout = scope.HardLimit
			}
		}
	}
	for _, c := range s.inOrder(f) {
		// Below the class's own lies the policy's schedule.
		o := c.schedule.over(s.schedule).model(retry.Policy{})
		p.PerError = append(p.PerError, retry.Override{
			Class: c.class, MaxAttempts: o.MaxAttempts, Backoff: o.Backoff, InitialDelay: o.InitialDelay, Base: o.Base, Increment: o.Increment,
			Delays: o.Delays, MaxDelay: o.MaxDelay, Jitter: o.Jitter, JitterFactor: o.JitterFactor, RetryAfter: o.RetryAfter, Escalate: o.Escalate,
		})
	}
	s.addClasses(&p, f)
	return Policy{Name: name, Breaker: s.breaker.value, Budget: s.budget.value, Policy: p}
}

// ofClasses returns the schedules of classes without those that are lifted.
func (s settings) ofClasses() []classSchedule {
	return slices.DeleteFunc(slices.Clone(s.perError), func(c classSchedule) bool { return c.lifted })
}

// inOrder returns the schedules of classes in the order in which classes are
// asked: the file's own first, as it defines them, then the built-in ones.
func (s settings) inOrder(f *File) []classSchedule {
	list := s.ofClasses()
	rank := func(c classSchedule) int {
		if i, ok := f.classes.order[c.class]; ok {
			return i
		}
		return len(f.Errors) + slices.Index(builtinClasses, string(c.class))
	}
	slices.SortStableFunc(list, func(a, b classSchedule) int { return rank(a) - rank(b) })
	return list
}

// addClasses fills in the lists of classes, and the definitions that they, or
// the actions of classes, need.
func (s settings) addClasses(p *retry.Policy, f *File) {
	var lists []class
	for _, c := range s.retryOn.value {
		p.RetryOn, lists = append(p.RetryOn, c.name), append(lists, c)
	}
	for _, c := range s.abortOn.value {
		p.AbortOn, lists = append(p.AbortOn, c.name), append(lists, c)
	}
	for _, b := range f.Breakers {
		if b.Name == s.breaker.value {
			lists = append(lists, b.patterns...)
		}
	}
	for _, c := range s.ofClasses() {
		lists = append(lists, class{name: c.class})
	}
	if f.classes.act || slices.ContainsFunc(lists, func(c class) bool { _, ok := f.classes.order[c.name]; return ok }) {
		p.Classes = f.classes.models
	}
	for _, c := range lists {
		if c.pattern != nil && !slices.ContainsFunc(p.Classes, func(have retry.ErrorClass) bool { return have.Class == c.name }) {
			p.Classes = append(p.Classes, retry.ErrorClass{Class: c.name, Pattern: c.pattern})
		}
	}
}

// model fills the schedule into p.
func (s schedule) model(p retry.Policy) retry.Policy {
	p.MaxAttempts, p.InitialDelay, p.MaxDelay = s.maxAttempts.value, s.initialDelay.value, s.maxDelay.value
	p.Backoff, p.Base, p.Increment, p.Delays = s.backoff.value.strategy, s.backoff.value.base, s.backoff.value.increment, s.backoff.value.delays
	p.Jitter, p.JitterFactor = s.jitter.value.mode, s.jitter.value.factor
	p.RetryAfter, p.Escalate = s.retryAfter.value, s.onExhausted.value == "escalate"
	return p.Effective()
}

// places maps every field that is written somewhere to where.
func (s settings) places() map[rules.Field]span {
	places := map[rules.Field]span{}
	note := func(field rules.Field, set bool, at span) {
		if set {
			places[field] = at
		}
	}
	note("max_attempts", s.maxAttempts.set, s.maxAttempts.at)
	note("backoff", s.backoff.set, s.backoff.at)
	note("base", s.backoff.set, s.backoff.at)
	note("increment", s.backoff.set, s.backoff.at)
	note("delays", s.backoff.set, s.backoff.at)
	note("initial_delay", s.initialDelay.set, s.initialDelay.at)
	note("max_delay", s.maxDelay.set, s.maxDelay.at)
	note("jitter", s.jitter.set, s.jitter.at)
	note("jitter_factor", s.jitter.set, s.jitter.at)
	note("delay_budget", s.delayBudget.set, s.delayBudget.at)
	note("max_elapsed", s.maxElapsed.set, s.maxElapsed.at)
	note("attempt_timeout", s.attemptTimeout.set, s.attemptTimeout.at)
	note("timeout", s.timeout.set, s.timeout.at)
	note("retry_on", s.retryOn.set, s.retryOn.at)
	note("abort_on", s.abortOn.set, s.abortOn.at)
	note("scope", s.scope.set, s.scope.at)
	note("retry_after", s.retryAfter.set, s.retryAfter.at)
	note("on_exhausted", s.onExhausted.set, s.onExhausted.at)
	note("breaker", s.breaker.set, s.breaker.at)
	note("budget", s.budget.set, s.budget.at)
	for _, c := range s.ofClasses() {
		note(rules.PerError(c.class), true, c.at)
	}
	return places
}
