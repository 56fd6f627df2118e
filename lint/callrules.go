package lint

import "github.com/retrygen/retrygen/policy/rules"

// ofCalls lists the rules about libraries, deadlines and wrappers.
var ofCalls = []rules.Rule{
	{
		ID: "RL201", Title: "library or helper that retries without a limit", Severity: rules.Error,
		Reports: "A retry library is used without a limit, or a function retries what it is given in a loop " +
			"that nothing ends.",
		Why: "If the operation can never succeed, the call never returns. Several libraries retry without a " +
			"limit by default.",
		Wrong: `backoff.Retry(c.Ping, backoff.NewConstantBackOff(time.Second))`,
		Right: `backoff.Retry(c.Ping, backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 10))`,
		NotReported: []string{
			"Calls with a context that can end.",
			"Operations that count the attempts or check a context themselves.",
			"Options that are not constant in this package.",
			"Helpers that take the number of attempts or a time.",
			"Helpers that what the operation returns with its error may end.",
			"By default: calls in tests, which the go command stops.",
		},
		Fix: "Give it a limit on attempts or time, or a context. The automatic fix passes a context that is " +
			"available.",
		Automatic: true,
		Related:   []string{"RL101", "RL202", "P300"},
	},
	{
		ID: "RL202", Title: "retries that continue after their context has ended", Severity: rules.Warning,
		Reports: "A retry library or helper has a limit, or none, and is not given the context of its caller.",
		Why: "After a cancellation the retries and their waits continue, up to the limit. Shutdowns time out, " +
			"and work is done that nobody waits for.",
		Wrong: `func load(ctx context.Context, c *client) error {
	return retry.Do(func() error { return c.Call(ctx) }, retry.Attempts(10))
}`,
		Right: `func load(ctx context.Context, c *client) error {
	return retry.Do(func() error { return c.Call(ctx) }, retry.Attempts(10), retry.Context(ctx))
}`,
		NotReported: []string{
			"Retries that wait less than a second in total.",
			"By default, helpers that wait for a time that is not known: `-confidence named` reports them.",
			"Operations that never ask for another attempt, or that check a context themselves.",
			"Calls in deferred functions.",
			"Helpers without a context parameter whose operation uses none, or that a goroutine calls.",
			"Operations that use a context which does not end with the caller.",
		},
		Fix: "Pass the context to the library or the helper; let a helper take one if it does not. A helper " +
			"that takes none is reported once in a package.",
		Automatic: true,
		Related:   []string{"RL102", "RL201", "RL501"},
	},
	{
		ID: "RL204", Title: "retrying client of which only the inner client is used", Severity: rules.Warning,
		Reports: "Only the `HTTPClient` of a `retryablehttp.Client` is used, which sends each request once.",
		Why:     "All settings of the retries have no effect. The first transient error reaches the caller.",
		Wrong: `c := retryablehttp.NewClient()
c.RetryMax = 5
return c.HTTPClient`,
		Right: `c := retryablehttp.NewClient()
c.RetryMax = 5
return c.StandardClient()`,
		NotReported: []string{
			"Clients whose methods are used as well.",
			"An inner client that is given to a package which makes retrying clients itself.",
			"Clients that come from elsewhere: whoever has both may choose.",
		},
		Fix:     "Use `StandardClient()`.",
		Related: []string{"RL201", "RL507"},
	},
	{
		ID: "RL205", Title: "request body that the first attempt consumes", Severity: rules.Warning,
		Reports: "Each attempt sends the same reader or request, which the first attempt reads to its end.",
		Why: "The second attempt sends an empty body, and many servers accept it. An upload becomes an empty " +
			"object, and the call succeeds.",
		Wrong: `body := bytes.NewReader(order)
for range 3 {
	resp, err = http.Post(url, "application/json", body)
	if err == nil {
		return resp, nil
	}
	time.Sleep(time.Second)
}`,
		Right: `for range 3 {
	resp, err = http.Post(url, "application/json", bytes.NewReader(order))
	if err == nil {
		return resp, nil
	}
	time.Sleep(time.Second)
}`,
		NotReported: []string{
			"Requests whose body net/http can rewind itself, such as one from `bytes.NewReader`.",
			"Readers that other code in the loop holds as well, and may rewind.",
			"Readers from fields, maps and package variables.",
		},
		Fix:     "Make the reader or request for each attempt, or rewind it.",
		Related: []string{"P912"},
	},
	{
		ID: "RL207", Title: "duration without a unit", Severity: rules.Error,
		Reports: "A number without a unit is used as a `time.Duration`, which counts nanoseconds.",
		Why: "A wait of 5 is no wait, and a timeout of 30 has expired before the call begins. Retries become a " +
			"busy loop.",
		Wrong: `time.Sleep(5)`,
		Right: `time.Sleep(5 * time.Second)`,
		NotReported: []string{
			"0, 1 and -1, which usually have a meaning of their own.",
			"Fields that are not known as durations, which may count seconds.",
			"Tests.",
		},
		Fix:     "Multiply by the unit: `5*time.Second`.",
		Related: []string{"P103", "RL103"},
	},
	{
		ID: "RL208", Title: "backoff with state that calls share", Severity: rules.Warning,
		Reports: "Several calls use one backoff that counts its attempts or its time.",
		Why: "The second call has no retries left, or two concurrent calls reset each other. It depends on the " +
			"load, so tests do not show it.",
		Wrong: `b := retry.WithMaxRetries(3, retry.NewConstant(time.Second))
for _, item := range items {
	if err := retry.Do(ctx, b, store(item)); err != nil {
		return err
	}
}`,
		Right: `for _, item := range items {
	b := retry.WithMaxRetries(3, retry.NewConstant(time.Second))
	if err := retry.Do(ctx, b, store(item)); err != nil {
		return err
	}
}`,
		NotReported: []string{
			"Backoffs whose constructor is not seen.",
			"Backoffs of cenkalti/backoff in fields and in variables of commands, which one goroutine may use " +
				"alone.",
			"Backoffs without state, such as a constant one.",
		},
		Fix:     "Create a backoff for each call.",
		Related: []string{"RL201", "RL209"},
	},
	{
		ID: "RL209", Title: "settings of a backoff that contradict each other", Severity: rules.Warning,
		Reports: "A setting of a backoff makes another one ineffective: `Cap` of a `wait.Backoff` ends the " +
			"retries early, the first delay is above the maximum, the interval of a poll is not below its timeout, or the " +
			"AWS SDK ignores the number of attempts.",
		Why: "A policy of ten attempts makes four, or delays do not grow. The author believes otherwise.",
		Wrong: `b := wait.Backoff{Steps: 10, Duration: time.Second, Factor: 2, Cap: 10 * time.Second}
return wait.ExponentialBackoff(b, ready)`,
		Right: `b := wait.Backoff{Steps: 4, Duration: time.Second, Factor: 2}
return wait.ExponentialBackoff(b, ready)`,
		NotReported: []string{
			"By default, a first delay above a maximum of which one is the library's default: it may be meant to be " +
				"constant. `-confidence named` reports it.",
			"Settings that are not constant, are assigned more than once, or are passed to a function that may " +
				"change them.",
			"Libraries other than package wait of Kubernetes, cenkalti/backoff, retryablehttp, avast/retry-go, go-redis " +
				"v9, resty v2 and v3, and the standard retryer of the AWS SDK v2.",
		},
		Fix:     "Choose a cap that is not reached early, or write the number of attempts that is meant.",
		Related: []string{"P201", "P302"},
	},
	{
		ID: "RL301", Title: "timeout that an outer context cuts short", Severity: rules.Error,
		Reports: "A context gets a timeout that is as long as the rest of an outer one, or longer, or it is " +
			"derived from a context that has ended.",
		Why: "The inner timeout never takes effect. One slow call uses the whole time, and nothing is left for " +
			"a retry or a fallback. What is to run after the end of a context, such as a shutdown, fails at once.",
		Wrong: `ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
defer cancel()
ctx, cancel2 := context.WithTimeout(ctx, 10*time.Second)
defer cancel2()`,
		Right: `ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
defer cancel()
ctx, cancel2 := context.WithTimeout(ctx, 5*time.Second)
defer cancel2()`,
		NotReported: []string{
			"Durations that are not constant.",
			"Functions that other packages may call with another context.",
			"Contexts for which one path has no known timeout.",
			"Contexts that have ended on some paths only.",
		},
		Fix: "Shorten the inner timeout, or raise the outer one. After the end of the outer context derive " +
			"from its parent, or from `context.WithoutCancel`.",
		Related: []string{"P401", "RL302", "RL304"},
	},
	{
		ID: "RL302", Title: "retries that their deadline cuts short", Severity: rules.Error,
		Reports: "The attempts of a retry and the waits between them need more time than the context around " +
			"them has; of a retry library, the first wait alone.",
		Why: "The last attempts are never made. The retry fails earlier than its numbers promise.",
		Wrong: `ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
defer cancel()
for range 10 {
	if err = c.Ping(ctx); err == nil {
		return nil
	}
	time.Sleep(100 * time.Millisecond)
}`,
		Right: `ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
defer cancel()
for range 5 {
	if err = c.Ping(ctx); err == nil {
		return nil
	}
	time.Sleep(100 * time.Millisecond)
}`,
		NotReported: []string{
			"Attempts, timeouts or delays that are not constant.",
			"Failures after which the wait may end early.",
			"Libraries other than package wait of Kubernetes, cenkalti/backoff, avast/retry-go, sethvargo/go-retry, and the " +
				"`StandardClient` of retryablehttp.",
		},
		Fix:     "Make fewer attempts, or raise the timeout.",
		Related: []string{"P404", "P405", "RL301"},
	},
	{
		ID: "RL304", Title: "attempts that share the deadline of one", Severity: rules.Warning,
		Reports: "A timeout that is meant for one attempt is created before the loop and shared by all " +
			"attempts.",
		Why: "The first slow attempt uses it up. All further attempts fail at once with " +
			"`context.DeadlineExceeded`, and the retry has no effect.",
		Wrong: `attempt, cancel := context.WithTimeout(ctx, time.Second)
defer cancel()
for ctx.Err() == nil {
	if c.Ping(attempt) == nil {
		return nil
	}
	time.Sleep(10 * time.Millisecond)
}`,
		Right: `for ctx.Err() == nil {
	attempt, cancel := context.WithTimeout(ctx, time.Second)
	err := c.Ping(attempt)
	cancel()
	if err == nil {
		return nil
	}
	time.Sleep(10 * time.Millisecond)
}`,
		NotReported: []string{
			"By default: `-confidence named` reports it, since a deadline may be meant for all attempts.",
			"Deadlines for all attempts together: reported are only those after which the loop continues with " +
				"another context, or that are named for an attempt.",
			"Contexts that the loop checks, or passes to anything but the attempt.",
		},
		Fix:     "Derive the context inside of the loop, and cancel it after each attempt.",
		Related: []string{"RL301", "RL306"},
	},
	{
		ID: "RL306", Title: "defer inside of a retry", Severity: rules.Warning,
		Reports: "A deferred call in a retry loop runs when the function returns, not after the attempt.",
		Why: "Each failed attempt leaves a body, transaction, file or timer open. Connection pools run empty " +
			"during an outage, when there are many retries.",
		Wrong: `for range 5 {
	attempt, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err = c.Call(attempt); err == nil {
		return nil
	}
	time.Sleep(time.Second)
}`,
		Right: `for range 5 {
	attempt, cancel := context.WithTimeout(ctx, time.Second)
	err = c.Call(attempt)
	cancel()
	if err == nil {
		return nil
	}
	time.Sleep(time.Second)
}`,
		NotReported: []string{
			"Defers that only a success or the last failure reaches.",
			"Defers under a condition.",
			"Loops over items, and other loops that retry nothing.",
			"By default: `-confidence named` reports it, since a loop over items is easily taken for a retry.",
		},
		Fix:     "Close it before the next attempt, or move the attempt into a function of its own.",
		Related: []string{"RL304"},
	},
	{
		ID: "RL401", Title: "retries inside of retries", Severity: rules.Warning,
		Reports: "Nested retries multiply to more than 12 attempts, in one function or along a chain of calls and " +
			"helpers, or to more than `limits.amplification` of the package's policy file.",
		Why: "Five attempts of four attempts are 20 calls for each request. A service that is down gets 20 " +
			"times its usual load.",
		Wrong: `func sync(c client) (err error) {
	for range 5 {
		if err = fetch(c); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func fetch(c client) (err error) {
	for range 4 {
		if err = c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}`,
		Right: `func sync(c client) (err error) {
	return fetch(c)
}`,
		NotReported: []string{
			"Numbers of attempts that are not constant where the retry is called.",
			"By default: outer loops that ask which error it is, since the error of the exhausted inner retry may " +
				"end them (`-confidence named`).",
			"Calls through interfaces and function values, and chains with more than three calls in between.",
			"Generated wrappers inside of one another, which make one attempt unless their policy is `nested`.",
			"What stays inside of the program.",
		},
		Fix:     "Retry in one place, usually the one closest to the network.",
		Related: []string{"RL402"},
	},
	{
		ID: "RL402", Title: "loop around a generated wrapper", Severity: rules.Warning,
		Reports: "A loop retries a generated wrapper, which already retries as its policy says.",
		Why: "The attempts multiply, and the policy file no longer describes what happens. Budgets and " +
			"breakers count each round as a new call.",
		Wrong: `for range 3 {
	if err = c.RetryFlush(ctx); err == nil {
		return nil
	}
	time.Sleep(time.Second)
}
return err`,
		Right: `return c.RetryFlush(ctx) // max_attempts is in retry.yaml`,
		NotReported: []string{
			"Loops over items.",
			"Wrappers whose policy makes one attempt.",
			"Wrappers that another package has written.",
		},
		Fix:     "Remove the loop, and write the number of attempts into the policy.",
		Related: []string{"RL401", "RL507"},
	},
	{
		ID: "RL501", Title: "wrapper that is not given the caller's context", Severity: rules.Warning,
		Reports: "A generated wrapper gets `context.Background` although a context that can end is available.",
		Why: "A wrapper waits between attempts as long as its context lives. After a cancellation it " +
			"continues, with all its retries.",
		Wrong: `func handle(ctx context.Context, c *Client) {
	c.RetryFlush(context.Background())
}`,
		Right: `func handle(ctx context.Context, c *Client) error {
	return c.RetryFlush(ctx)
}`,
		NotReported: []string{
			"Functions without another context, or whose context has ended.",
			"Contexts without their cancellation (`context.WithoutCancel`), which are meant to outlive the " +
				"caller.",
		},
		Fix:     "Pass the context of the caller.",
		Related: []string{"RL202", "RL504"},
	},
	{
		ID: "RL502", Title: "edited generated code", Severity: rules.Error,
		Reports: "The code of a generated file does not match the checksum in its last line.",
		Why: "What runs is not what the policy file says, and the next run of retrygen removes the change. " +
			"Often a merge has combined two versions.",
		Wrong: `// Code generated by retrygen from retry.yaml. DO NOT EDIT.

var policyRead = retry.Policy{Name: "read", Schedule: retry.Schedule{MaxAttempts: 50}} // was 5`,
		Right: `# retry.yaml, and go generate ./...
policies:
  read: {attempts: 50}`,
		NotReported: []string{
			"Comments, white space and line ends.",
			"Changes of the policy file after the last generation: `retrygen -check` reports them.",
		},
		Fix:     "Change the policy file, and run retrygen.",
		Related: []string{"RL507"},
	},
	{
		ID: "RL504", Title: "error of a wrapper that is not checked", Severity: rules.Warning,
		Reports: "The error of a generated wrapper is ignored.",
		Why:     "All attempts failed, and the program continues as if the call had succeeded.",
		Wrong: `func stop(ctx context.Context, c *Client) {
	c.RetryFlush(ctx)
}`,
		Right: `func stop(ctx context.Context, c *Client) error {
	return c.RetryFlush(ctx)
}`,
		NotReported: []string{
			"Errors that are assigned to the blank identifier, which is a decision.",
			"Tests.",
		},
		Fix:     "Return the error, or handle it.",
		Related: []string{"RL109", "RL501"},
	},
	{
		ID: "RL507", Title: "call that bypasses its wrapper", Severity: rules.Warning,
		Reports: "A function that a policy file binds is called directly instead of through its generated " +
			"wrapper, in its own package or in one that imports it.",
		Why: "The call has no retries, no timeout and no breaker. It fails at the first transient error, and " +
			"its failures are not counted.",
		Wrong: `func (s *server) show(ctx context.Context) (Order, error) {
	return s.client.Order(ctx, "o-1")
}`,
		Right: `func (s *server) show(ctx context.Context) (Order, error) {
	return s.client.RetryOrder(ctx, "o-1")
}`,
		NotReported: []string{
			"Tests.",
			"Functions that have wrappers, or that wrappers call.",
			"Calls through interfaces, and types that are wrapped as a whole.",
			"Wrappers that are not exported, in other packages.",
			"By default: functions that another package binds than the one that declares them or the one that " +
				"calls them, since the policy may be meant for that package alone (`-confidence named`).",
		},
		Fix:     "Call the wrapper.",
		Related: []string{"RL204", "RL402", "RL501"},
	},
}
