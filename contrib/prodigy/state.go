package prodigy

import (
	"cmp"
	"fmt"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// retryState reads a RetryCheckpointState.
func (d *decoder) retryState(n *node) {
	o := d.object(n)
	if taken := d.time(o.get("checkpointed_at")); !taken.IsZero() {
		d.c.Taken = taken
	}
	d.c.global = d.config(o.get("global_retry_config"))
	for _, n := range d.entries(o.get("command_retry_states")) {
		d.command(n)
	}
	for _, n := range d.list(o.get("retry_execution_history")) {
		d.execution(n)
	}
	for _, n := range d.entries(o.get("circuit_breaker_states")) {
		d.breaker(n)
	}
	for _, n := range d.broken {
		if _, ok := d.c.breakers[n.parent.key]; !ok {
			d.note(n, "is true, and circuit_breaker_states has no breaker of the command: not imported")
		}
	}
	for _, n := range d.entries(o.get("retry_correlation_map")) {
		d.correlation(n)
	}
	o.rest(unknownKey)
}

// command reads a CommandRetryState.
func (d *decoder) command(n *node) {
	o := d.object(n)
	c := Command{ID: n.key}
	if id := o.get("command_id"); id != nil && d.string(id) != n.key {
		d.note(id, "is %v: the key counts", id)
	}
	c.Attempts = d.count(o.need("attempt_count"))
	c.MaxAttempts = max(d.count(o.need("max_attempts")), 1) // Prodigy, too, makes the first one
	c.LastAttempt, c.NextAttempt = d.time(o.get("last_attempt_at")), d.time(o.get("next_retry_at"))
	c.BudgetExpires = d.time(o.get("retry_budget_expires_at"))
	c.configured = d.config(o.get("retry_config"))
	if current := o.get("current_strategy"); current != nil {
		d.current(current, &c)
	}
	if state := o.get("backoff_state"); state != nil {
		c.backoff = d.backoffState(state, &c.Delay)
	}
	history := o.get("retry_history")
	for _, n := range d.list(history) {
		c.History = append(c.History, d.attempt(n))
	}
	sortHistory(c.History)
	d.reconcile(history, &c)
	if broken := o.get("is_circuit_broken"); d.flag(broken) {
		d.broken = append(d.broken, broken)
	}
	if c.Attempts > c.MaxAttempts && !c.Succeeded {
		d.note(n, "is inconsistent, with %d attempts and max_attempts %d: it is exhausted", c.Attempts, c.MaxAttempts)
	}
	d.duration(o.get("total_retry_duration")) // the sum of the durations in the history
	o.rest(unknownKey)
	d.add(c)
}

// reconcile compares the count of a command with its history: neither may make
// an attempt unmade.
func (d *decoder) reconcile(n *node, c *Command) {
	for i, a := range c.History {
		c.Waited += min(a.Waited, 1<<63-1-c.Waited)
		c.Succeeded = a.Success
		if last := i == len(c.History)-1; last && a.Number > c.Attempts {
			d.note(n, "has attempt %d, and attempt_count is %d: %[1]d attempts are counted", a.Number, c.Attempts)
			c.Attempts = a.Number
		}
	}
	c.Lost = n != nil && c.begun()
	if !c.Lost && len(c.History) < c.Attempts && n != nil {
		d.note(n, "has %d of %d attempts: the others have no history", len(c.History), c.Attempts)
	}
	if c.NextAttempt.IsZero() {
		c.Delay = 0 // of a retry that is not scheduled
	} else if c.Delay == 0 && !c.LastAttempt.IsZero() {
		c.Delay = max(c.NextAttempt.Sub(c.LastAttempt), 0)
	}
}

// begun reports whether the last attempt has begun and is not in the history: its
// agent has died. Agents schedule the next attempt when they record the end.
func (c *Command) begun() bool {
	if c.DeadLetter || c.Succeeded || !c.NextAttempt.IsZero() || c.LastAttempt.IsZero() || len(c.History) != c.Attempts-1 {
		return false
	}
	if len(c.History) == 0 {
		return true
	}
	last := c.History[len(c.History)-1]
	return last.Number == c.Attempts-1 && c.LastAttempt.After(last.Started)
}

// current reads current_strategy: a configuration, or the strategy that is in
// the backoff state, too.
func (d *decoder) current(n *node, c *Command) {
	if n.find("backoff") != nil || n.find("attempts") != nil || n.find("max_attempts") != nil {
		c.configured = cmp.Or(c.configured, d.config(n))
		return
	}
	s := d.strategy(n)
	c.backoff = &config{
		source: d.source(n), unmapped: d.mappable(s), schedule: d.schedule(s, defaultInitialDelay, defaultMaxDelay),
	}
}

// backoffState reads a BackoffState: what it says about the configuration, and
// the delay before the next attempt.
func (d *decoder) backoffState(n *node, delay *time.Duration) *config {
	o := d.object(n)
	s := d.strategy(o.need("strategy"))
	if s.base == nil {
		s.base = o.get("multiplier")
	}
	initial, limit := defaultInitialDelay, defaultMaxDelay
	if base := o.get("base_delay"); base != nil {
		initial = d.duration(base)
	}
	if longest := o.get("max_delay"); longest != nil {
		limit = d.duration(longest)
	}
	*delay = d.duration(o.get("current_delay"))
	c := &config{source: d.source(n), unmapped: d.mappable(s), schedule: d.schedule(s, initial, limit)}
	jitter(&c.schedule, d.flag(o.get("jitter_enabled", "jitter")), d.number(o.get("jitter_factor"), defaultJitterFactor))
	// A schedule computes these from the number of the attempt.
	o.get("multiplier", "fibonacci_prev", "fibonacci_curr")
	o.rest(unknownKey)
	return c
}

// attempt reads a RetryAttempt.
func (d *decoder) attempt(n *node) Attempt {
	o := d.object(n)
	a := Attempt{
		Number: d.count(o.need("attempt_number")), Started: d.time(o.get("executed_at")),
		Duration: d.duration(o.get("duration")), Success: d.flag(o.need("success")),
		Error: d.string(o.get("error")), Waited: d.duration(o.get("backoff_applied")),
	}
	if code := o.get("exit_code"); code != nil && !a.Success {
		a.Error = fmt.Sprintf("%s (exit code %d)", a.Error, d.whole(code))
	}
	o.rest(unknownKey)
	return a
}

// execution reads a RetryExecution: of a sequence that has not ended, it is
// another count of the attempts.
func (d *decoder) execution(n *node) {
	o := d.object(n)
	c := Command{
		ID: d.string(o.need("command_id")), Attempts: d.count(o.get("total_attempts")),
		Correlation: d.string(o.get("correlation_id")),
	}
	if c.Correlation != "" {
		c.correlations = []string{c.Correlation}
	}
	ended := d.time(o.get("completed_at"))
	d.time(o.get("started_at"))
	d.flag(o.get("succeeded"))
	d.string(o.get("final_error"))
	o.rest(unknownKey)
	if !ended.IsZero() {
		d.note(n, "has ended: it does not count against the attempts of the command")
		return
	}
	if c.Attempts > d.commands[c.ID].Attempts {
		d.note(n, "counts %d attempts of the command, and attempt_count is %d: %[1]d attempts are counted",
			c.Attempts, d.commands[c.ID].Attempts)
	}
	d.add(c)
}

// circuitStates are the states of breakers by their names, as in strategies.
var circuitStates = map[string]breaker.State{
	"closed": breaker.Closed, "open": breaker.Open, "halfopen": breaker.HalfOpen,
}

// breaker reads a CircuitBreakerState.
func (d *decoder) breaker(n *node) {
	o := d.object(n)
	name := o.need("state")
	if name == nil {
		return
	}
	state, ok := circuitStates[lowerCase(name.text)]
	if !ok || name.kind != '"' {
		d.fail(name, "is %v: want Closed, Open or HalfOpen; update this package", name)
	}
	probes := max(d.count(o.get("half_open_max_calls")), 1)
	b := circuit{
		policy: breaker.Policy{
			Name: n.key, Failures: max(d.count(o.need("failure_threshold")), 1),
			OpenFor:       max(d.duration(o.need("recovery_timeout")), 1),
			HalfOpenCalls: probes, Successes: probes,
		},
		snapshot: breaker.Snapshot{State: state, Failures: d.count(o.need("failure_count"))},
	}
	failed := d.time(o.get("last_failure_at"))
	if failed.IsZero() {
		failed = d.c.Taken
	}
	if state == breaker.Open && !failed.IsZero() {
		b.snapshot.OpenUntil = failed.Add(b.policy.OpenFor)
	}
	if successes := o.get("half_open_success_count"); d.count(successes) > 0 && state == breaker.HalfOpen {
		d.note(successes, "is %v: a restored breaker counts these successes from 0", successes)
	}
	o.rest(unknownKey)
	d.c.breakers[n.key] = b
}

// correlation reads the id of a command in retry_correlation_map.
func (d *decoder) correlation(n *node) {
	id := d.string(n)
	c, ok := d.commands[n.key]
	if !ok {
		d.note(n, "is the id of a command without retry state: not imported")
		return
	}
	c.correlations = union(c.correlations, []string{id})
	c.Correlation = c.correlations[0]
	d.commands[n.key] = c
}
