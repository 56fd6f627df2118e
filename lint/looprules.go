package lint

import "github.com/retrygen/retrygen/policy/rules"

// ofLoops lists the rules about suppressions and about hand-written retries.
var ofLoops = []rules.Rule{
	{
		ID: "RL001", Title: "ignore comment without effect", Severity: rules.Warning,
		Reports: "A `//retrylint:ignore` or `//retrylint:forever` comment names a rule that reports nothing on " +
			"its line or the next.",
		Why: "The code has changed since the comment was written. A leftover comment hides the next " +
			"real problem on that line.",
		Wrong: `//retrylint:ignore RL103 the server limits the rate
for range 5 {
	if err = c.Ping(); err == nil {
		return nil
	}
	time.Sleep(time.Second)
}`,
		Right: `for range 5 {
	if err = c.Ping(); err == nil {
		return nil
	}
	time.Sleep(time.Second)
}`,
		NotReported: []string{
			"Under go vet and golangci-lint, comments for rules that are off by default and not enabled.",
		},
		Fix:     "Remove the comment, or correct the rule.",
		Related: []string{"RL002", "P001"},
	},
	{
		ID: "RL002", Title: "ignore comment without a reason", Severity: rules.Warning,
		Reports: "A `//retrylint:ignore` or `//retrylint:forever` comment gives no reason, or names no rule.",
		Why:     "Without a reason nobody can decide later whether the exception still holds.",
		Wrong: `//retrylint:ignore RL101
for connect() != nil {
}`,
		Right: `//retrylint:ignore RL101 the supervisor kills us after a minute
for connect() != nil {
}`,
		NotReported: []string{
			"Several rules with one reason: `//retrylint:ignore RL101, RL103 the reason`.",
		},
		Fix: "Write the rule, a space and the reason: `//retrylint:ignore RL101 the device answers sooner or " +
			"later`. A loop that is meant to run for ever takes `//retrylint:forever` and the reason.",
		Related: []string{"RL001", "P002"},
	},
	{
		ID: "RL101", Title: "hand-written retry without a limit", Severity: rules.Error,
		Reports: "A loop makes the same call again after an error, and ends only when the call succeeds or " +
			"fails with a different error.",
		Why: "If the call can never succeed, the loop never ends: the goroutine, its connection and its memory " +
			"are kept until the process restarts, and the caller gets no error.",
		Wrong: `for {
	if err := c.Ping(); err == nil {
		break
	}
	time.Sleep(time.Second)
}`,
		Right: `for attempt := 1; ; attempt++ {
	err := c.Ping()
	if err == nil || attempt == 5 {
		return err
	}
	time.Sleep(time.Second)
}`,
		NotReported: []string{
			"Loops whose exit reads a counter, a clock, a context, a channel or a flag that changes while the " +
				"call fails.",
			"Calls of function values: their callers decide (RL201 reports the caller).",
			"Loops that continue after success, such as daemons, accept loops and message loops, and " +
				"functions that never return.",
			"Loops over items, and calls whose arguments change between attempts, such as pages or " +
				"alternatives.",
			"Programs that are started again at once: they are supervised.",
			"Conflicts with others: one class of errors that is retried at once (RL114), and locks.",
			"With `-confidence named` only: loops that a setting, a limit that some errors skip, or another " +
				"answer may end; calls that read what the loop, another goroutine or they themselves write; " +
				"loops next to a timer or a signal that ends the program; tests and package main.",
		},
		Fix: "Count the attempts, or return when a context ends. A deadline that is created in the loop does " +
			"not count: it starts again on each iteration. The message adds RL103 to RL106 if these apply to " +
			"the same loop.",
		Related: []string{"RL103", "RL104", "RL105", "RL106", "RL201", "P300"},
	},
	{
		ID: "RL102", Title: "wait between attempts that ignores a context", Severity: rules.Warning,
		Reports: "A loop that retries or polls sleeps between attempts although a context that can end is " +
			"available.",
		Why: "After a cancellation or a shutdown the function stays for the rest of the wait, with backoff for " +
			"minutes. Shutdowns time out and processes are killed.",
		Wrong: `for ctx.Err() == nil {
	if err := c.Ping(); err == nil {
		return nil
	}
	time.Sleep(time.Second)
}`,
		Right: `for {
	if err := c.Ping(); err == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
	}
}`,
		NotReported: []string{
			"Waits of less than 250ms.",
			"Tests.",
			"Waits after the context has ended, and in deferred calls.",
			"Contexts that cannot end, or that end only by a time limit of the function itself.",
			"Loops over different items, and loops that take what arrives.",
			"Contexts that are made in the loop, and those of fields that the loop neither checks nor passes on.",
			"More than one wait of a loop: the others are related information of the first.",
		},
		Fix: "Wait in a `select` with `ctx.Done()`. The automatic fix does so if nothing but a `return` follows the " +
			"loop, and the function returns only an error, or nothing.",
		Automatic: true,
		Related:   []string{"RL101", "RL202"},
	},
	{
		ID: "RL103", Title: "remote call retried without a wait", Severity: rules.Warning,
		Reports: "A call of another system is executed again at once after a failure.",
		Why: "A service that is overloaded gets more requests the more it fails. Many clients in such loops " +
			"keep it from recovering.",
		Wrong: `for range 5 {
	if _, err = c.Call(ctx, "k"); err == nil {
		return nil
	}
}`,
		Right: `for attempt := range 5 {
	if _, err = c.Call(ctx, "k"); err == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second << attempt):
	}
}`,
		NotReported: []string{
			"Calls that are not known to leave the process. Known are clients of the standard library and of " +
				"popular packages, and functions that call them.",
			"Loops in which something between the attempts, or the call itself, may wait or block.",
			"Loops in which something between the attempts may change what the call depends on. Code that is " +
				"not known may.",
			"Retries of one class of errors alone, such as a conflict.",
			"Loops that an error leaves and an answer repeats: they ask for the next page, or wait for news.",
			"At most two attempts. If a parameter limits them: only with `-confidence named`.",
			"Attempts with other arguments, or on another server.",
			"Loops over items, and tests.",
		},
		Fix:     "Wait between attempts, longer each time, with jitter.",
		Related: []string{"RL101", "RL102", "P204", "P210"},
	},
	{
		ID: "RL104", Title: "end of the context retried", Severity: rules.Error,
		Reports: "A loop without a limit retries the error of its own context like any other error.",
		Why: "Once the caller has canceled, every attempt fails at once with `context.Canceled`. The loop " +
			"becomes a busy loop that uses a whole CPU core and never ends.",
		Wrong: `for {
	if err := c.Call(ctx, "k"); err == nil {
		return nil
	}
	time.Sleep(time.Second)
}`,
		Right: `for ctx.Err() == nil {
	if err := c.Call(ctx, "k"); err == nil {
		return nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}
return ctx.Err()`,
		NotReported: []string{
			"Loops that check `ctx.Err()`, `ctx.Done()` or the error of the context.",
			"Calls without a context.",
			"Loops with a limit; they end with it.",
		},
		Fix:     "Return when `ctx.Err() != nil`.",
		Related: []string{"RL101", "RL102", "P707"},
	},
	{
		ID: "RL105", Title: "loop condition that can never change", Severity: rules.Error,
		Reports: "A retry loop waits for an error that nothing in the loop assigns, for a counter to reach a " +
			"number that it steps over or moves away from, or counts without a comparison.",
		Why: "The limit looks right in a review and never applies. The loop runs for ever, or not at all.",
		Wrong: `for err := c.Ping(); err != nil; {
	log.Print(err)
}`,
		Right: `for err := c.Ping(); err != nil && attempt < 5; err = c.Ping() {
	log.Print(err)
	attempt++
}`,
		NotReported: []string{
			"Loops with any other exit.",
			"Counters that are only logged or that only the wait is computed from, if the loop has a limit.",
		},
		Fix: "Assign the result of the next attempt, and compare the counter with `<` or `>=`. The automatic " +
			"fix replaces an equality by such a comparison.",
		Automatic: true,
		Related:   []string{"RL101", "RL106"},
	},
	{
		ID: "RL106", Title: "limit that is reset on each iteration", Severity: rules.Error,
		Reports: "The only limit of a retry is a counter, timer, deadline or retry budget that is created or " +
			"reset inside of the loop.",
		Why: "It starts from zero on each iteration and never reaches its limit, so the loop runs for ever " +
			"although it seems to be limited.",
		Wrong: `for {
	b := &budget{left: time.Minute}
	if _, err := c.Call(ctx, "k"); err != nil {
		if err = b.Backoff(err); err != nil {
			return err
		}
		continue
	}
	return nil
}`,
		Right: `b := &budget{left: time.Minute}
for {
	if _, err := c.Call(ctx, "k"); err != nil {
		if err = b.Backoff(err); err != nil {
			return err
		}
		continue
	}
	return nil
}`,
		NotReported: []string{
			"Loops with another limit.",
			"Timers in a `select` that can fire: only those next to a `default` are reported.",
			"Objects that hold pointers, slices, maps or interfaces: what these lead to may keep the limit.",
			"Times that are compared within one iteration, unless `-confidence named` is set.",
		},
		Fix:     "Create it before the loop.",
		Related: []string{"RL101", "RL105"},
	},
	{
		ID: "RL107", Title: "delay that overflows", Severity: rules.Error,
		Reports: "A delay is shifted by the number of attempts, or multiplied with a power of it, and limited " +
			"only after the multiplication.",
		Why: "After about 60 attempts the delay is negative or zero, which the limit does not catch. A loop " +
			"that waited a minute suddenly calls the service as fast as it can.",
		Wrong: `for attempt := 0; ; attempt++ {
	if c.Ping() == nil {
		return
	}
	time.Sleep(min(time.Second<<attempt, time.Minute))
}`,
		Right: `for attempt := 0; ; attempt++ {
	if c.Ping() == nil {
		return
	}
	time.Sleep(time.Second << min(attempt, 6))
}`,
		NotReported: []string{
			"Loops in which the number of attempts is compared with a limit, or passed to any function but one that " +
				"computes the delay.",
			"Loops that end after some time, or with the last item.",
			"Numbers of attempts in fields, and in variables that function literals share.",
			"Delays that are compared with 0 or with their least value, or passed to any other function that limits them " +
				"than `min`.",
			"Delays without a limit, which take centuries to overflow.",
		},
		Fix:       "Limit the exponent, not the result: `time.Second << min(attempt, 6)`.",
		Automatic: true,
		Related:   []string{"P205", "RL101"},
	},
	{
		ID: "RL109", Title: "exhausted retry that returns no error", Severity: rules.Info,
		Reports: "A function returns nil after its attempts are used up, its time has run out or its context has " +
			"ended, although it returns the error of the operation where something else ends the loop.",
		Why: "The caller believes that the operation succeeded. Data is lost without an error in any log.",
		Wrong: `for {
	select {
	case <-ctx.Done():
		return nil
	default:
	}
	err := c.Ping()
	if err == nil || errors.Is(err, errFatal) {
		return err
	}
	time.Sleep(time.Millisecond)
}`,
		Right: `for {
	select {
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	err := c.Ping()
	if err == nil || errors.Is(err, errFatal) {
		return err
	}
	time.Sleep(time.Millisecond)
}`,
		NotReported: []string{
			"Functions that return none of the errors: trying a few times and continuing is often intended. A " +
				"variable that is returned and never set is reported nevertheless.",
			"Functions that return the error at one limit at least.",
			"Functions that return a bool, or another value next to the error.",
			"Loops in which others can see what happened, and polls that do more with an answer than to test it.",
			"Code that does more than log before it returns.",
			"Errors that may be nil, such as that of a rollback or of a context.",
		},
		Fix: "Return the last error, or the error of the context. Check that the variable is the one that the " +
			"loop assigned.",
		Related: []string{"RL101", "RL504"},
	},
	{
		ID: "RL110", Title: "poll without a limit", Severity: rules.Info,
		Reports: "A loop asks again and again whether something is ready, and only the answer ends it.",
		Why: "If the answer never comes, because a job failed or a resource was deleted, the goroutine polls " +
			"until the process restarts.",
		Wrong: `for !c.Ready() {
	time.Sleep(time.Second)
}`,
		Right: `for deadline := time.Now().Add(time.Minute); !c.Ready(); {
	if time.Now().After(deadline) {
		return errors.New("not ready")
	}
	time.Sleep(time.Second)
}`,
		NotReported: []string{
			"Loops with any other exit: a counter, a clock, a channel, a flag, a context, or a call with other " +
				"arguments.",
			"Loops that do more with an answer than to test it, and questions that stay in the process, are asked " +
				"of a function value, or end with a context.",
			"Loops that go on after an error, too (RL101).",
		},
		Fix:     "Count the polls, or return when a context ends.",
		Related: []string{"RL101"},
	},
	{
		ID: "RL113", Title: "recursive retry without a limit", Severity: rules.Error,
		Reports: "A function responds to an error by calling itself with the same arguments.",
		Why: "It never returns while the call fails, and each attempt needs more stack, until the process runs " +
			"out of memory.",
		Wrong: `func load(name string) []byte {
	b, err := os.ReadFile(name)
	if err != nil {
		time.Sleep(time.Second)
		return load(name)
	}
	return b
}`,
		Right: `func load(name string, attempts int) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err != nil && attempts > 1 {
		time.Sleep(time.Second)
		return load(name, attempts-1)
	}
	return b, err
}`,
		NotReported: []string{
			"By default: `-confidence named` reports it, since a recursion may end in ways that are not seen.",
			"Calls with another argument, such as a counter.",
			"Functions in which another condition decides, or that may have corrected the cause in between.",
			"Settings that only the constructor assigns do not count as a condition.",
			"Functions that call each other, calls of function values, and one class of errors that is retried at " +
				"once (RL114).",
		},
		Fix:     "Count the attempts in a loop, and return the last error.",
		Related: []string{"RL101"},
	},
	{
		ID: "RL114", Title: "conflicts retried without a limit", Severity: rules.Info,
		Reports: "One class of errors, such as a conflict of versions or EINTR, is retried at once, as often " +
			"as it comes.",
		Why: "Each attempt is expected to get further, or to find that the others are done. Under load many " +
			"callers conflict with each other, and the work of all of them is wasted.",
		Wrong: `for {
	if err := update(c); !errors.Is(err, errConflict) {
		return err
	}
}`,
		Right: `for attempt := 1; ; attempt++ {
	err := update(c)
	if !errors.Is(err, errConflict) || attempt == 10 {
		return err
	}
	time.Sleep(rand.N(time.Duration(attempt) * 10 * time.Millisecond))
}`,
		NotReported: []string{
			"Loops that wait between the attempts, or that anything else ends (RL101).",
		},
		Fix:     "Limit the attempts, and wait a random time between them.",
		Related: []string{"RL101", "RL103"},
	},
}
