package vocab

import (
	"go/types"
	"regexp"
	"slices"
	"time"
)

// A Retrier describes functions of a public module that retry another function. Its indexes
// count arguments from the receiver. An index is -1 if there is no such argument.
type Retrier struct {
	Pkg, Recv, Name string   // as in a Row
	Op              int      // the function that is retried
	Context         int      // the context that ends the retries
	Policy          int      // the argument that configures the retries; Settings describes how it is created
	Bounds          Bounds   // the bounds that apply unless the policy lifts them
	Attempts        int      // the number of attempts if the policy does not set it; 0: any number
	Resets          bool     // a stateful policy is reset by each call
	ErrorEnds       bool     // an error of the function that is retried ends the retries
	Limit           string   // what limits the retries of a call
	With            string   // the function of the package that adds a context to a policy
	Twins           []string // functions of the package that do the same with a context, the newest first
	Instead         string   // a function of another package that does the same with a context
}

// Bounds is a set of the things that end or delay retries.
type Bounds uint8

// The elements of Bounds.
const (
	ByAttempts Bounds = 1 << iota
	ByTime
	Delayed
	Jittered
	Halved   // delays may be half as long
	Stateful // the created value has a state: it is used up, or other calls may reset it
	Timed    // attempts begin at intervals, and end when the time is over
)

// A Setting describes what a function, a field, a variable or a type configures about retries.
// The function may be an option, a constructor, or a wrapper of another policy.
type Setting struct {
	Pkg, Recv, Name string // as in a Row
	Says            Saying
	Arg             int    // the index of the argument with the value
	Bounds          Bounds // the bounds that it adds or lifts
	Zero            bool   // an Arg of 0 lifts the limit
	Of              int    // the argument with the rest of the policy, or -1

	// For settings that create a complete policy: the name of the setting for the maximum
	// delay, and the defaults of the first and the maximum delay; 0: unknown, or no limit.
	Cap         string
	First, Most time.Duration
}

// A Saying is the kind of a Setting.
type Saying uint8

// The kinds of settings.
const (
	Neutral  Saying = iota
	Attempts        // Arg is the maximum number of attempts; a negative one lifts the limit
	Retries         // Arg is the maximum number of attempts minus one
	Elapsed         // Arg is the time for which to retry
	Delay           // Arg is the wait between attempts
	Longest         // Arg is the maximum wait
	Last            // Arg is a delay after which the retries end
	Factor          // Arg is the factor by which each delay is multiplied
	Spread          // Arg is the fraction by which a delay may be longer
	Varies          // the waits differ from those of the other settings
	Randoms         // the minimum wait differs from that of the other settings
	Lifts           // Bounds do not apply
	Decides         // something else may end the retries
	Pauses          // something else may wait between attempts
	Tunes           // the other settings only configure the waits
	Cancels         // Arg is a context that ends the retries
	Ignores         // an Arg of 0 has no effect
)

// IsWhole reports whether a setting creates a complete policy, whose settings may contradict
// each other.
func (s *Setting) IsWhole() bool { return s.Cap != "" || s.Says == Ignores || s.Bounds&Timed != 0 }

// RetrierOf returns what the table contains about a function that retries another one, or nil.
func RetrierOf(fn *types.Func) *Retrier {
	if rows := retriersByName.all(NameOf(fn)); len(rows) > 0 {
		return rows[0]
	}
	return nil
}

// IsRetryPackage reports whether a package has functions that retry others.
func IsRetryPackage(path string) bool {
	return slices.ContainsFunc(retriersByName.compiled(), func(r [3]*regexp.Regexp) bool { return r[0].MatchString(path) })
}

// SettingsOf returns what the table contains about a function or another symbol.
func SettingsOf(name Name) []*Setting { return settingsByName.all(name) }

var (
	retriersByName = index[Retrier]{rows: Retriers, pattern: func(r Retrier) Name { return Name{r.Pkg, r.Recv, r.Name} }}
	settingsByName = index[Setting]{rows: Settings, pattern: func(s Setting) Name { return Name{s.Pkg, s.Recv, s.Name} }}
)

// Packages of retry libraries, as patterns.
const (
	cenkalti    = `github\.com/cenkalti/backoff(/v[34])?|github\.com/cenk/backoff`
	cenkaltiV3  = `github\.com/cenkalti/backoff(/v3)?|github\.com/cenk/backoff`
	cenkaltiV4  = `github\.com/cenkalti/backoff/v4`
	cenkaltiV5  = `github\.com/cenkalti/backoff/v[5-9]`
	cenkaltiAll = cenkalti + "|" + cenkaltiV5
	avast       = `github\.com/avast/retry-go(/v[34])?`
	avastV5     = `github\.com/avast/retry-go/v5`
	avastAll    = avast + "|" + avastV5
	sethvargo   = `github\.com/sethvargo/go-retry`
	wait        = `k8s\.io/apimachinery/pkg/util/wait`
	gax         = `github\.com/googleapis/gax-go/v2`
	k8sRetry    = `k8s\.io/client-go/util/retry`
	failsafe    = `github\.com/failsafe-go/failsafe-go`
	redis       = `github\.com/redis/go-redis/v9`
	resty       = `github\.com/go-resty/resty/v2|resty\.dev/v3`
	aws         = `github\.com/aws/aws-sdk-go-v2`

	runtime       = `github\.com/retrygen/retrygen/runtime`
	retryablehttp = `github\.com/hashicorp/go-retryablehttp`
)

// Retriers describes the functions of popular modules. A test next to the plugin in
// contrib/linters/golangci compiles against every symbol.
var Retriers = []Retrier{
	{Pkg: cenkalti, Name: "Retry|RetryWithData", Context: -1, Policy: 1, Bounds: Delayed, Resets: true,
		With: "WithContext", Limit: "WithMaxRetries, or a MaxElapsedTime above 0"},
	{Pkg: cenkalti, Name: "RetryNotify|RetryNotifyWithData", Context: -1, Policy: 1, Resets: true, With: "WithContext",
		Limit: "WithMaxRetries, or a MaxElapsedTime above 0"},
	{Pkg: cenkaltiV5, Name: "Retry", Op: 1, Policy: 2, Bounds: ByTime | Delayed, Resets: true,
		Limit: "WithMaxTries, or a WithMaxElapsedTime above 0"},
	{Pkg: avast, Name: "Do|DoWithData", Context: -1, Policy: 1, Bounds: ByAttempts | Delayed | Jittered, Attempts: 10,
		With: "Context", Limit: "Attempts above 0"},
	{Pkg: avastV5, Recv: "Retrier|RetrierWithData", Name: "Do", Op: 1, Context: -1,
		Bounds: ByAttempts | Delayed | Jittered, Attempts: 10, With: "Context", Limit: "Attempts above 0"},
	{Pkg: sethvargo, Name: "Do|DoValue", Op: 2, Policy: 1, Limit: "WithMaxRetries or WithMaxDuration"},
	{Pkg: sethvargo, Name: "Constant|Exponential|Fibonacci", Op: 2, Policy: -1,
		Limit: "Do, and WithMaxRetries or WithMaxDuration"},
	{Pkg: wait, Name: "PollInfinite|PollImmediateInfinite", Op: 1, Context: -1, Policy: -1, ErrorEnds: true,
		Limit: "PollUntilContextTimeout"},
	{Pkg: wait, Name: "PollUntil|PollImmediateUntil", Op: 1, Context: -1, Policy: 2, ErrorEnds: true,
		Limit: "PollUntilContextTimeout"},
	{Pkg: wait, Name: "Poll(Immediate)?(Until|Infinite)WithContext", Op: 2, Policy: -1, ErrorEnds: true,
		Limit: "PollUntilContextTimeout"},
	{Pkg: wait, Name: "PollUntilContextCancel", Op: 3, Policy: -1, ErrorEnds: true, Limit: "PollUntilContextTimeout"},
	{Pkg: wait, Name: "ExponentialBackoff", Op: 1, Context: -1, Bounds: ByAttempts, ErrorEnds: true,
		Twins: []string{"ExponentialBackoffWithContext"}, Limit: "fewer Steps"},
	{Pkg: wait, Name: "ExponentialBackoffWithContext", Op: 2, Policy: 1, Bounds: ByAttempts, ErrorEnds: true,
		Limit: "fewer Steps"},
	{Pkg: wait, Name: "Poll", Op: 2, Context: -1, Policy: -1, Bounds: ByTime, ErrorEnds: true,
		Twins: []string{"PollUntilContextTimeout", "PollWithContext"}},
	{Pkg: wait, Name: "PollImmediate", Op: 2, Context: -1, Policy: -1, Bounds: ByTime, ErrorEnds: true,
		Twins: []string{"PollUntilContextTimeout", "PollImmediateWithContext"}},
	{Pkg: wait, Name: "PollUntilContextTimeout", Op: 4, Policy: -1, Bounds: ByTime, ErrorEnds: true},
	{Pkg: wait, Name: "Poll(Immediate)?WithContext", Op: 3, Policy: -1, Bounds: ByTime, ErrorEnds: true},
	{Pkg: k8sRetry, Name: "OnError", Op: 2, Context: -1, Bounds: ByAttempts,
		Instead: "ExponentialBackoffWithContext of package wait", Limit: "fewer Steps"},
	{Pkg: gax, Name: "Invoke", Op: 1, Policy: 2, Bounds: ByAttempts, Attempts: 1, Limit: "WithTimeout"},
	{Pkg: failsafe, Recv: "Executor", Name: "(Run|Get)(WithExecution)?", Op: 1, Context: -1, Bounds: ByAttempts,
		Limit: "WithMaxRetries above 0, or WithMaxDuration"},
}

// Settings describes the policies of these modules. All rows that match a symbol apply.
//
// The settings of pgx are not included, because its pool and its connections do not retry
// anything after a delay. AddWithMaxAttempts of the AWS SDK with 0 does not cause retries
// without a limit, because the SDK's rate limiter and the context of each call end its retries.
var Settings = []Setting{
	{Pkg: cenkalti, Name: "NewExponentialBackOff", Bounds: ByTime | Halved | Stateful,
		Cap: "MaxInterval", First: 500 * time.Millisecond, Most: time.Minute},
	{Pkg: cenkaltiV5, Name: "NewExponentialBackOff", Of: -1, Bounds: Halved | Stateful,
		Cap: "MaxInterval", First: 500 * time.Millisecond, Most: time.Minute},
	{Pkg: cenkaltiAll, Name: "ExponentialBackOff", Of: -1, Bounds: Stateful, Cap: "MaxInterval"},
	{Pkg: cenkaltiAll, Name: "NewConstantBackOff", Says: Delay, Of: -1},
	{Pkg: cenkaltiAll, Name: "ConstantBackOff", Of: -1},
	{Pkg: cenkaltiAll, Name: "ZeroBackOff", Says: Lifts, Bounds: Delayed, Of: -1},
	{Pkg: cenkaltiAll, Recv: ".*", Name: "(With)?InitialInterval", Says: Delay, Of: -1},
	{Pkg: cenkaltiAll, Recv: ".*", Name: "(With)?MaxInterval", Says: Longest, Of: -1},
	{Pkg: cenkaltiAll, Recv: ".*", Name: "(With)?RandomizationFactor", Says: Randoms, Of: -1},
	{Pkg: cenkaltiAll, Recv: ".*", Name: "(With)?MaxElapsedTime", Says: Elapsed, Zero: true, Of: -1},
	{Pkg: cenkalti, Name: "With(Multiplier|ClockProvider|RetryStopDuration)", Of: -1},
	{Pkg: cenkaltiV3, Name: "WithMaxRetries", Says: Retries, Arg: 1, Zero: true, Bounds: Stateful},
	{Pkg: cenkaltiV4, Name: "WithMaxRetries", Says: Retries, Arg: 1, Bounds: Stateful},
	{Pkg: cenkalti, Name: "WithContext", Says: Cancels, Arg: 1},
	{Pkg: cenkaltiV5, Name: "WithMaxTries", Says: Attempts, Zero: true, Of: -1},
	{Pkg: cenkaltiV5, Name: "WithBackOff"},
	{Pkg: cenkaltiV5, Name: "WithNotify", Says: Pauses, Of: -1},

	{Pkg: avastV5, Name: "New|NewWithData", Cap: "MaxDelay"},
	{Pkg: avast, Name: "Do|DoWithData", Of: 1, Cap: "MaxDelay"},
	{Pkg: avastAll, Name: "Attempts", Says: Attempts, Zero: true, Of: -1},
	{Pkg: avastAll, Name: "UntilSucceeded", Says: Lifts, Bounds: ByAttempts, Of: -1},
	{Pkg: avastAll, Name: "RetryIf|AttemptsForError|With(FixedTokenBucket)?Throttle", Says: Decides, Of: -1},
	{Pkg: avastAll, Name: "Context", Says: Cancels, Of: -1},
	{Pkg: avastAll, Name: "Delay", Says: Delay, Of: -1},
	{Pkg: avastAll, Name: "MaxDelay", Says: Longest, Of: -1},
	{Pkg: avastAll, Name: "DelayType", Says: Tunes},
	{Pkg: avastAll, Name: "FixedDelay", Says: Lifts, Bounds: Jittered, Of: -1},
	{Pkg: avastAll, Name: "OnRetry|WithTimer", Says: Pauses, Of: -1},
	{Pkg: avastAll, Name: "LastErrorOnly|MaxJitter|WrapContextErrorWithLastError", Of: -1},

	{Pkg: sethvargo, Name: "NewConstant", Says: Delay, Of: -1},
	{Pkg: sethvargo, Name: "New(Exponential|Fibonacci)", Says: Delay, Of: -1, Bounds: Stateful},
	{Pkg: sethvargo, Name: "WithJitter|WithJitterPercent|WithCappedDuration", Says: Varies, Of: 1},
	{Pkg: sethvargo, Name: "WithMaxRetries|WithMaxDuration", Says: Decides, Of: 1, Bounds: Stateful},

	{Pkg: wait, Recv: "Backoff", Name: "Duration", Says: Delay, Of: -1},
	{Pkg: wait, Recv: "Backoff", Name: "Factor", Says: Factor, Of: -1},
	{Pkg: wait, Recv: "Backoff", Name: "Jitter", Says: Spread, Of: -1},
	{Pkg: wait, Recv: "Backoff", Name: "Steps", Says: Attempts, Of: -1},
	{Pkg: wait, Recv: "Backoff", Name: "Cap", Says: Last, Of: -1},
	{Pkg: wait, Name: "ExponentialBackoff", Cap: "Cap"},
	{Pkg: wait, Name: "ExponentialBackoffWithContext", Of: 1, Cap: "Cap"},
	{Pkg: wait, Name: "PollUntilContextTimeout", Says: Delay, Arg: 1, Of: -1, Bounds: Timed},
	{Pkg: wait, Name: "PollUntilContextTimeout", Says: Elapsed, Arg: 2, Of: -1},
	{Pkg: wait, Name: "NeverStop", Of: -1},
	{Pkg: k8sRetry, Name: "OnError|RetryOnConflict", Cap: "Cap"},

	{Pkg: gax, Name: "WithRetry"},
	{Pkg: gax, Name: "OnCodes|OnErrorFunc|OnHTTPCodes", Says: Lifts, Bounds: ByAttempts, Of: -1},
	{Pkg: gax, Name: "WithTimeout", Says: Elapsed, Of: -1},

	{Pkg: failsafe, Name: "With"},
	{Pkg: failsafe, Recv: "Executor", Name: "WithContext", Says: Cancels, Arg: 1},
	{Pkg: failsafe, Recv: "Executor", Name: "OnDone|OnSuccess|OnFailure"},
	{Pkg: failsafe + "/retrypolicy", Name: "NewBuilder", Of: -1},
	{Pkg: failsafe + "/retrypolicy", Recv: "Builder", Name: "WithMaxRetries", Says: Retries, Arg: 1},
	{Pkg: failsafe + "/retrypolicy", Recv: "Builder", Name: "WithMaxAttempts", Says: Attempts, Arg: 1},
	{Pkg: failsafe + "/retrypolicy", Recv: "Builder", Name: "WithMaxDuration|WithBudget|AbortIf", Says: Decides},
	{Pkg: failsafe + "/retrypolicy", Recv: "Builder", Name: ".*"},
	{Pkg: failsafe, Recv: "FailurePolicyBuilder", Name: "HandleErrors|HandleErrorTypes|HandleIf", Says: Decides},
	{Pkg: failsafe, Recv: "FailurePolicyBuilder|DelayablePolicyBuilder", Name: ".*"},

	{Pkg: redis, Name: ".*Options", Of: -1, Cap: "MaxRetryBackoff"},
	{Pkg: redis, Recv: ".*Options", Name: "MinRetryBackoff", Says: Delay, Of: -1},
	{Pkg: redis, Recv: ".*Options", Name: "MaxRetryBackoff", Says: Longest, Of: -1},
	{Pkg: resty, Name: "New(With.*)?", Of: -1, Cap: "RetryMaxWaitTime",
		First: 100 * time.Millisecond, Most: 2 * time.Second},
	{Pkg: resty, Recv: "Client", Name: "SetRetryWaitTime", Says: Delay, Arg: 1, Of: -1},
	{Pkg: resty, Recv: "Client", Name: "SetRetryMaxWaitTime", Says: Longest, Arg: 1, Of: -1},
	{Pkg: resty, Recv: "Client", Name: "SetRetryDelayStrategy", Says: Varies, Of: -1},
	{Pkg: retryablehttp, Name: "NewClient", Of: -1, Cap: "RetryWaitMax", First: time.Second, Most: 30 * time.Second},
	{Pkg: retryablehttp, Name: "Client", Of: -1, Cap: "RetryWaitMax"},
	{Pkg: retryablehttp, Recv: "Client", Name: "RetryWaitMin", Says: Delay, Of: -1},
	{Pkg: retryablehttp, Recv: "Client", Name: "RetryWaitMax", Says: Longest, Of: -1},
	{Pkg: retryablehttp, Recv: "Client", Name: "Backoff", Says: Varies, Of: -1},
	{Pkg: retryablehttp, Recv: "Client", Name: "RetryMax", Says: Retries, Of: -1},
	{Pkg: retryablehttp, Recv: "Client", Name: "CheckRetry", Says: Decides, Of: -1},
	{Pkg: aws + "/aws/retry", Name: "NewStandard", Cap: "MaxBackoff", Most: 20 * time.Second},
	{Pkg: aws + "/aws/retry", Recv: "StandardOptions", Name: "BaseDelay", Says: Delay, Of: -1},
	{Pkg: aws + "/aws/retry", Recv: "StandardOptions", Name: "MaxBackoff", Says: Longest, Of: -1},
	{Pkg: aws + "/aws/retry", Recv: "StandardOptions", Name: "Backoff", Says: Varies, Of: -1},
	{Pkg: aws + "/aws/retry", Recv: "StandardOptions", Name: "MaxAttempts", Says: Ignores, Of: -1},
	{Pkg: aws + "/config", Name: "WithRetryMaxAttempts", Says: Ignores, Of: -1},
}
