package foreign

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// resilience4jKind is the kind for the Spring configuration of resilience4j. Sources: its
// documentation, and RetryConfig and CircuitBreakerConfig for the defaults.
var resilience4jKind = Kind{
	Name: "resilience4j", Title: "resilience4j configuration",
	shape: true,
	recognize: func(doc *syntax.Node) bool {
		for _, e := range doc.Entries {
			if e.Key == "resilience4j" || strings.HasPrefix(e.Key, "resilience4j.") {
				return true
			}
		}
		return false
	},
	decode: decodeResilience4j,
}

var resilience4jWords = words{
	"max_attempts": "maxAttempts", "initial_delay": "waitDuration", "max_delay": "exponentialMaxWaitDuration",
	"base":     "exponentialBackoffMultiplier",
	fullJitter: "enableRandomizedWait: true", fixedBackoff: "enableExponentialBackoff: false",
	"retry_on": "retryExceptions", "abort_on": "ignoreExceptions", "attempt_timeout": "timeoutDuration",
	"breaker": "circuitbreaker", "failure_rate": "failureRateThreshold", "min_calls": "minimumNumberOfCalls",
	"slow_call": "slowCallDurationThreshold",
}

// The defaults of resilience4j.
const (
	resilience4jWait       = 500 * time.Millisecond
	resilience4jMultiplier = 1.5
	resilience4jRandom     = 0.5
	resilience4jTimeout    = time.Second
	resilience4jOpenFor    = time.Minute
	resilience4jRate       = 50 // percent
	resilience4jMinCalls   = 100
	resilience4jWindow     = 100 // calls, or seconds
	resilience4jHalfOpen   = 10
)

func decodeResilience4j(d *decoder, doc *value) {
	doc.n = doc.n.Undotted("resilience4j")
	doc.skipOthers("resilience4j") // the rest of the application
	root := doc.get("resilience4j")
	section := func(name string) *value { return fieldFolded(root, name) }
	retries, breakers, limiters := section("retry"), section("circuitbreaker"), section("timelimiter")
	for _, name := range []string{"bulkhead", "threadPoolBulkhead", "rateLimiter"} {
		section(name).lose("it limits calls at a time or per second, not retries")
	}
	for _, name := range []string{"scheduled", "scheduled.executor", "micrometer", "micrometer.timer"} {
		section(name).skip()
	}
	for _, s := range []*value{retries, breakers, limiters} {
		for _, key := range s.keys() {
			if strings.HasSuffix(folded(key), "aspectorder") || folded(key) == "metrics" || folded(key) == "tags" {
				s.skip(key)
			}
		}
	}
	used := usage{}
	for _, name := range instances(retries) {
		if c := instance(retries, name); c != nil {
			used.add(c...)
			d.resilience4jPolicy(name, c, breakers, limiters, used)
		}
	}
	configs := retries.get("configs")
	for _, name := range configs.keys() { // configs of instances that only the program names
		own := configs.get(name)
		if own != nil && !used[own] {
			d.resilience4jPolicy(name, extending(retries, name, own), nil, nil, used)
		}
	}
	for _, list := range []*value{instancesOf(retries), configs} {
		for _, name := range list.keys() {
			used.withoutEffect(list.get(name))
		}
	}
	for _, s := range []*value{breakers, limiters} { // instances without retries
		for _, name := range instances(s) {
			instancesOf(s).get(name).skip()
		}
	}
	breakers.get("configs").skip()
	limiters.get("configs").skip()
}

// instancesOf returns the instances of a section. In older versions, they are called backends.
func instancesOf(section *value) *value {
	if v := section.get("instances"); v != nil {
		return v
	}
	return section.get("backends")
}

func instances(section *value) []string { return instancesOf(section).keys() }

// A configured instance reads each field from the instance itself, then from the config that it
// extends, then from the config that this one extends, and so on.
type configured []*value

// instance returns an instance of a section with its configs. If there is no such instance, the
// result is empty.
func instance(section *value, name string) configured {
	own := instancesOf(section).get(name)
	if own == nil {
		return nil
	}
	return extending(section, name, own)
}

// extending returns an instance or config together with the configs that it extends: its
// baseConfig, or else the config named default. For breakers, only instances extend default.
func extending(section *value, name string, own *value) configured {
	chain, configs := configured{own}, section.get("configs")
	for len(chain) <= len(configs.keys()) {
		base := fieldFolded(own, "baseConfig")
		next := base.text()
		if next == "" && name != "default" && (len(chain) == 1 || folded(section.key) != "circuitbreaker") {
			next = "default"
		}
		own = configs.get(next)
		if own == nil && base != nil {
			base.mistake("P901", "there is no config %s, so the program does not start", syntax.Quote(next))
		}
		if own == nil || next == name {
			return chain
		}
		name, chain = next, append(chain, own)
	}
	return chain
}

// get returns a field from the first map that contains it.
func (c configured) get(name string) (first *value) {
	for _, v := range c {
		f := fieldFolded(v, name)
		if first == nil {
			first = f
		} else {
			f.skip() // has no effect here
		}
	}
	return first
}

// hides reports whether field was probably meant to replace other, because it is written nearer to the
// instance.
func (c configured) hides(other, field string) bool {
	for _, v := range c {
		if fieldFolded(v, other) != nil {
			return false
		}
		if fieldFolded(v, field) != nil {
			return true
		}
	}
	return false
}

func (d *decoder) resilience4jPolicy(name string, c configured, breakers, limiters *value, used usage) {
	p := d.policy(name, resilience4jWords, c...)
	p.attempts(c.get("maxAttempts"), 0)
	if old := c.get("maxRetryAttempts"); c.hides("maxAttempts", "maxRetryAttempts") {
		old.warn("P109", "%s was renamed to maxAttempts: version 2.0.1 and later ignore it and make %d attempts", old.key,
			cmp.Or(p.MaxAttempts, 3))
		old.skip()
	}
	p.resilience4jDelays(c, used)
	d.javaClasses(p, "retry_on", c.get("retryExceptions"))
	d.javaClasses(p, "abort_on", c.get("ignoreExceptions"))
	for _, field := range []string{
		"retryExceptionPredicate", "resultPredicate", "intervalBiFunction", "intervalFunction",
	} {
		c.get(field).lose("a function of the program decides")
	}
	for _, field := range []string{
		"failAfterMaxAttempts", "eventConsumerBufferSize", "baseConfig", "consumeResultBeforeRetryAttempt",
	} {
		c.get(field).skip()
	}
	if t := instance(limiters, name); t != nil {
		p.AttemptTimeout = resilience4jTimeout
		p.duration("attempt_timeout", t.get("timeoutDuration"), springDuration)
		p.roots = append(p.roots, t[0])
		t.get("cancelRunningFuture").skip()
		t.get("eventConsumerBufferSize").skip()
	}
	if b := instance(breakers, name); b != nil {
		p.breaker = d.resilience4jBreaker(name, b)
		p.roots = append(p.roots, b[0])
	}
}

// resilience4jDelays reads the delays. The first map, among an instance and its configs, that
// has a waitDuration decides them. Its own fields are used and, except for
// randomizedWaitFactor, the fields of the config that it extends. All other maps have no
// effect.
func (p *Policy) resilience4jDelays(c configured, used usage) {
	p.Backoff, p.InitialDelay, p.MaxDelay = retry.BackoffFixed, resilience4jWait, retry.None
	decides := slices.IndexFunc(c, func(v *value) bool { return fieldFolded(v, "waitDuration") != nil })
	var own, both configured
	if decides >= 0 {
		own, both = c[decides:decides+1], c[decides:min(decides+2, len(c))]
	}
	wait := own.get("waitDuration")
	p.duration("initial_delay", wait, springDuration)
	multiplier, most := both.get("exponentialBackoffMultiplier"), both.get("exponentialMaxWaitDuration")
	random := own.get("randomizedWaitFactor")
	exponential, randomized := both.get("enableExponentialBackoff"), both.get("enableRandomizedWait")
	if exponential.bool() {
		p.Backoff, p.Base = retry.BackoffExponential, resilience4jMultiplier
		p.base(multiplier)
		used.add(exponential, multiplier)
	}
	if randomized.bool() {
		p.Jitter, p.JitterFactor = retry.JitterProportional, resilience4jRandom
		used.add(randomized)
	}
	// The function with all parameters is only called if all of them are written.
	if exponential.bool() && multiplier != nil && (!randomized.bool() || random != nil) {
		p.duration("max_delay", most, springDuration)
		used.add(most)
	}
	if random != nil && randomized.bool() && (!exponential.bool() || multiplier != nil) {
		p.jitterFactor(random)
		used.add(random)
	}
}

// A usage records the values that have an effect on at least one policy.
type usage map[*value]bool

func (u usage) add(list ...*value) {
	for _, v := range list {
		u[v] = true
	}
}

// withoutEffect reports fields for delays that have no effect on any policy.
func (u usage) withoutEffect(own *value) {
	needs := []struct{ field, others string }{
		{"enableExponentialBackoff", "waitDuration"},
		{"enableRandomizedWait", "waitDuration"},
		{"exponentialBackoffMultiplier", "waitDuration and enableExponentialBackoff: true"},
		{"exponentialMaxWaitDuration", "waitDuration, enableExponentialBackoff: true, exponentialBackoffMultiplier " +
			"and, if waits are random, randomizedWaitFactor"},
		{"randomizedWaitFactor", "waitDuration and enableRandomizedWait: true"},
	}
	for _, n := range needs {
		v := fieldFolded(own, n.field)
		if v != nil && !u[v] && v.n.Text != "false" {
			v.lacks("P109", "%s has no effect without %s", v.key, n.others)
		}
		v.skip()
	}
}

// javaClasses adds the names of exception classes to a list.
func (d *decoder) javaClasses(p *Policy, field rules.Field, list *value) {
	add := p.retryOn
	if field == "abort_on" {
		add = p.abortOn
	}
	items := list.items
	if list != nil && !list.n.IsList() { // classes in one text
		items = func() []*value { return []*value{list} }
	}
	for _, item := range items() {
		for name := range strings.SplitSeq(item.text(), ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			add(d.pattern(name[strings.LastIndexAny(name, ".$")+1:], `\b`+regexp.QuoteMeta(name)+`\b`), item)
		}
	}
}

func (d *decoder) resilience4jBreaker(name string, c configured) *circuit {
	b := d.breaker(name, resilience4jWords, c[0])
	b.FailureRate, b.MinCalls, b.OpenFor = resilience4jRate/100., resilience4jMinCalls, resilience4jOpenFor
	b.HalfOpenCalls, b.Successes = resilience4jHalfOpen, resilience4jHalfOpen
	if f, ok := c.get("failureRateThreshold").share(100); ok {
		b.FailureRate = f
		b.places["failure_rate"] = c.get("failureRateThreshold")
	}
	if n, ok := c.get("minimumNumberOfCalls").int(); ok {
		b.MinCalls = n
		b.places["min_calls"] = c.get("minimumNumberOfCalls")
	}
	if n, ok := c.get("permittedNumberOfCallsInHalfOpenState").int(); ok {
		b.HalfOpenCalls, b.Successes = n, n
		b.places["half_open_calls"] = c.get("permittedNumberOfCallsInHalfOpenState")
	}
	if t, ok := c.get("waitDurationInOpenState").duration(springDuration); ok {
		b.OpenFor = t
		b.places["open_for"] = c.get("waitDurationInOpenState")
	}
	d.resilience4jWindow(b, c)
	d.resilience4jSlow(b, c)
	c.get("recordExceptions").lose("only these exceptions count: count of a breaker lists classes")
	c.get("ignoreExceptions").lose("these exceptions do not count: count of a breaker lists classes")
	for _, field := range []string{"recordFailurePredicate", "recordResultPredicate", "ignoreExceptionPredicate"} {
		c.get(field).lose("a function of the program decides")
	}
	d.resilience4jLonger(b, c)
	for _, field := range []string{
		"baseConfig", "registerHealthIndicator", "eventConsumerBufferSize", "automaticTransitionFromOpenToHalfOpenEnabled",
		"allowHealthIndicatorToFail", "maxWaitDurationInHalfOpenState", "writableStackTraceEnabled",
		"transitionToStateAfterWaitDuration", "initialState", "ignoreClassBindingExceptions",
		"enableRandomizedWait", "randomizedWaitFactor",
	} {
		c.get(field).skip()
	}
	return b
}

// resilience4jWindow reads the window, which contains a number of calls or of seconds.
func (d *decoder) resilience4jWindow(b *circuit, c configured) {
	size, byTime := c.get("slidingWindowSize"), strings.EqualFold(c.get("slidingWindowType").text(), "TIME_BASED")
	n, ok := size.int()
	if !ok {
		n = resilience4jWindow
	}
	if byTime {
		b.Window = time.Duration(n) * time.Second
		b.places["window"] = size
		return
	}
	if n > breaker.MaxWindowCalls {
		size.lose("a window has at most %d calls", breaker.MaxWindowCalls)
		n = breaker.MaxWindowCalls
	}
	b.WindowCalls, b.MinCalls = n, min(b.MinCalls, n)
	b.places["window_calls"] = size
}

// resilience4jLonger reads how much longer the breaker stays open each time it opens again.
func (d *decoder) resilience4jLonger(b *circuit, c configured) {
	enabled, factor := c.get("enableExponentialBackoff"), c.get("exponentialBackoffMultiplier")
	longest, ok := c.get("exponentialMaxWaitDurationInOpenState").duration(springDuration)
	switch f, _ := factor.float(); {
	case !enabled.bool():
	case ok && f == 2 && longest >= b.OpenFor:
		b.MaxOpenFor = longest
	default:
		enabled.lose("the breaker stays open for longer each time: open_for can only double, up to a max")
	}
}

// resilience4jSlow reads which calls count as slow. By default, no calls do.
func (d *decoder) resilience4jSlow(b *circuit, c configured) {
	rate, ok := c.get("slowCallRateThreshold").share(100)
	t, written := c.get("slowCallDurationThreshold").duration(springDuration)
	if !ok && !written {
		return
	}
	b.SlowRate, b.SlowCall = 1, resilience4jOpenFor
	if ok {
		b.SlowRate = rate
		b.places["slow_rate"] = c.get("slowCallRateThreshold")
	}
	if written {
		b.SlowCall = t
		b.places["slow_call"] = c.get("slowCallDurationThreshold")
	}
}

var springSimple = withOneUnit("Spring", "ns", "us", "ms", "s", "m", "h", "d")

// springDuration parses durations as Spring does: with one unit in any case, as ISO 8601, or in
// milliseconds (DurationStyle of Spring Boot).
func springDuration(text string) (time.Duration, error) {
	if d, err := springSimple(strings.ToLower(text)); err == nil {
		return d, nil
	}
	return either(springSimple, iso8601, in(time.Millisecond))(text)
}
