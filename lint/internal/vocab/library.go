package vocab

import (
	"go/types"
	"regexp"
	"slices"
	"sync"
)

// A Retrier describes functions of a public module that retry another function. Arguments are
// counted from the receiver on; an index is -1 if there is no such argument.
type Retrier struct {
	Pkg, Recv, Name string   // as in a Row
	Op              int      // the function that is retried
	Context         int      // the context that ends the retries
	Policy          int      // what says how to retry: Settings describe how it is made
	Bounds          Bounds   // what there is of them unless the policy lifts it
	Attempts        int      // how many there are if the policy does not say; 0: any number
	ErrorEnds       bool     // an error of the function that is retried ends the retries
	Limit           string   // what gives a call a limit
	With            string   // the function of the package that gives a policy a context
	Twins           []string // functions of the package that do the same with a context, the newest first
	Instead         string   // a function of another package that does so
}

// Bounds is a set of what ends retries, or delays them.
type Bounds uint8

// The elements of Bounds.
const (
	ByAttempts Bounds = 1 << iota
	ByTime
	Delayed
	Jittered
)

// A Setting describes what a function, a field, a variable or a type says about retries: an
// option, a constructor, or one that wraps another policy.
type Setting struct {
	Pkg, Recv, Name string // as in a Row; of a field, Recv is its type
	Says            Saying
	Arg             int    // the argument that it is about
	Bounds          Bounds // that it adds or lifts
	Zero            bool   // an Arg of 0 lifts the limit
	Of              int    // the argument with the rest of the policy, or -1
}

// A Saying is what a Setting says.
type Saying uint8

// The sayings.
const (
	Neutral  Saying = iota
	Attempts        // Arg is how many attempts there are at most; a negative one lifts the limit
	Retries         // Arg is one less than that
	Elapsed         // Arg is for how long to retry
	Delay           // Arg is how long to wait between attempts
	Longest         // Arg is how long to wait at most
	Varies          // the waits are not those of the rest
	Begins          // Bounds begin
	Lifts           // Bounds do not hold
	Decides         // something else may end the retries
	Pauses          // something else may wait between attempts
	Tunes           // the rest says only how to wait
	Cancels         // Arg is a context that ends the retries
)

// RetrierOf returns what is known of a function that retries another, or nil.
func RetrierOf(fn *types.Func) *Retrier { return retriersByName.find(NameOf(fn)) }

// IsRetryPackage reports whether a package has functions that retry others.
func IsRetryPackage(path string) bool {
	return slices.ContainsFunc(retriersByName.compiled(), func(r [3]*regexp.Regexp) bool { return r[0].MatchString(path) })
}

// SettingsOf returns what a function, or another symbol, says about retries.
func SettingsOf(name Name) []*Setting { return settingsByName.all(name) }

var (
	retriersByName = index[Retrier]{rows: Retriers,
		pattern: func(r *Retrier) [3]string { return [3]string{r.Pkg, r.Recv, r.Name} }}
	settingsByName = index[Setting]{rows: Settings,
		pattern: func(s *Setting) [3]string { return [3]string{s.Pkg, s.Recv, s.Name} }}
)

// An index finds the rows of a table that describe a name.
type index[R any] struct {
	rows    []R
	pattern func(*R) [3]string
	once    sync.Once
	regexps [][3]*regexp.Regexp
	found   sync.Map // by Name
}

// compiled returns the patterns of each row: of the package, the receiver and the name.
func (x *index[R]) compiled() [][3]*regexp.Regexp {
	x.once.Do(func() {
		for i := range x.rows {
			var row [3]*regexp.Regexp
			for k, text := range x.pattern(&x.rows[i]) {
				row[k] = whole(text)
			}
			x.regexps = append(x.regexps, row)
		}
	})
	return x.regexps
}

func (x *index[R]) find(name Name) *R {
	if rows := x.all(name); len(rows) > 0 {
		return rows[0]
	}
	return nil
}

func (x *index[R]) all(name Name) []*R {
	if rows, ok := x.found.Load(name); ok {
		return rows.([]*R)
	}
	var rows []*R
	for i, r := range x.compiled() {
		if r[2].MatchString(name.Func) && r[1].MatchString(name.Recv) && r[0].MatchString(name.Pkg) {
			rows = append(rows, &x.rows[i])
		}
	}
	x.found.Store(name, rows)
	return rows
}

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
	failsafe    = `github\.com/failsafe-go/failsafe-go`
)

// Retriers is what is known of the popular modules. A test next to the plugin in
// contrib/golangci/integration compiles against every symbol.
var Retriers = []Retrier{
	{Pkg: cenkalti, Name: "Retry|RetryWithData", Context: -1, Policy: 1, Bounds: Delayed, With: "WithContext",
		Limit: "WithMaxRetries, or a MaxElapsedTime above 0"},
	{Pkg: cenkalti, Name: "RetryNotify|RetryNotifyWithData", Context: -1, Policy: 1, With: "WithContext",
		Limit: "WithMaxRetries, or a MaxElapsedTime above 0"},
	{Pkg: cenkaltiV5, Name: "Retry", Op: 1, Policy: 2, Bounds: ByTime | Delayed,
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
	{Pkg: `k8s\.io/client-go/util/retry`, Name: "OnError", Op: 2, Context: -1, Bounds: ByAttempts,
		Instead: "ExponentialBackoffWithContext of package wait", Limit: "fewer Steps"},
	{Pkg: gax, Name: "Invoke", Op: 1, Policy: 2, Bounds: ByAttempts, Attempts: 1, Limit: "WithTimeout"},
	{Pkg: failsafe, Recv: "Executor", Name: "(Run|Get)(WithExecution)?", Op: 1, Context: -1, Bounds: ByAttempts,
		Limit: "WithMaxRetries above 0, or WithMaxDuration"},
}

// Settings is what is known of their policies. All rows that describe a symbol count.
var Settings = []Setting{
	{Pkg: cenkalti, Name: "NewExponentialBackOff", Says: Begins, Bounds: ByTime},
	{Pkg: cenkaltiV5, Name: "NewExponentialBackOff", Of: -1},
	{Pkg: cenkaltiAll, Name: "NewConstantBackOff", Says: Delay, Of: -1},
	{Pkg: cenkaltiAll, Name: "ExponentialBackOff|ConstantBackOff", Of: -1},
	{Pkg: cenkaltiAll, Name: "ZeroBackOff", Says: Lifts, Bounds: Delayed, Of: -1},
	{Pkg: cenkalti, Recv: "ExponentialBackOff", Name: "MaxElapsedTime", Says: Elapsed, Zero: true, Of: -1},
	{Pkg: cenkaltiV3, Name: "WithMaxRetries", Says: Retries, Arg: 1, Zero: true},
	{Pkg: cenkaltiV4, Name: "WithMaxRetries", Says: Retries, Arg: 1},
	{Pkg: cenkalti, Name: "WithContext", Says: Cancels, Arg: 1},
	{Pkg: cenkaltiAll, Name: "WithMaxElapsedTime", Says: Elapsed, Zero: true, Of: -1},
	{Pkg: cenkaltiV5, Name: "WithMaxTries", Says: Attempts, Zero: true, Of: -1},
	{Pkg: cenkaltiV5, Name: "WithBackOff"},
	{Pkg: cenkaltiV5, Name: "WithNotify", Says: Pauses, Of: -1},
	{Pkg: cenkalti, Of: -1,
		Name: "With(InitialInterval|RandomizationFactor|Multiplier|MaxInterval|ClockProvider|RetryStopDuration)"},

	{Pkg: avastV5, Name: "New|NewWithData"},
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

	{Pkg: sethvargo, Name: "New(Constant|Exponential|Fibonacci)", Says: Delay, Of: -1},
	{Pkg: sethvargo, Name: "WithJitter|WithJitterPercent|WithCappedDuration", Says: Varies, Of: 1},
	{Pkg: sethvargo, Name: "WithMaxRetries|WithMaxDuration", Says: Decides, Of: 1},

	{Pkg: wait, Recv: "Backoff", Name: "Steps", Says: Attempts, Of: -1},
	{Pkg: wait, Recv: "Backoff", Name: "Cap", Says: Decides, Of: -1},
	{Pkg: wait, Name: "NeverStop", Of: -1},

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
}
