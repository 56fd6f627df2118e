package storm

import (
	"math"
	"math/rand/v2"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/capacity"
)

// Unlimited is the Queue of a service that refuses no request.
const Unlimited = math.MaxInt

// A System is what is simulated. It is plain data.
type System struct {
	Name     string
	Services []Service
	Loads    []Load
	Events   []Event
	Length   time.Duration // of the simulation, rounded up to seconds
}

// A Service executes requests.
type Service struct {
	Name      string
	Instances int   // processes, each with its own breakers and budgets; 0 means 1
	Workers   int   // of each instance; 0 means 1
	Time      Times // of a request, without the calls that it makes
	Queue     int   // requests that wait for a worker, for each instance; or Unlimited
	Notices   bool  // whether it drops the requests of callers that have gone
	Calls     []Target
	Parallel  bool // whether a request makes all Calls at once, instead of one after another
}

// Capacity returns the greatest number of requests per second that the workers can
// serve, if calls to other services take no time.
func (s *Service) Capacity() float64 { return float64(s.workers()) / s.Time.mean }

func (s *Service) instances() int { return max(s.Instances, 1) }
func (s *Service) workers() int   { return s.instances() * max(s.Workers, 1) }

// A Target is a service that is called, and how.
type Target struct {
	Service string
	Client  Client
}

// A Client has the policy of calls, and what a process has for them.
type Client struct {
	Policy  retry.Policy
	Breaker *breaker.Policy // nil: none
	Budget  *budget.Policy  // nil: none

	Limiter  *capacity.LimiterPolicy  // nil: none
	Rate     *capacity.RatePolicy     // nil: none
	Throttle *capacity.ThrottlePolicy // nil: none

	// BreakerStore, BudgetStore and RateStore report whether all processes share one.
	BreakerStore, BudgetStore, RateStore bool
	// Patience limits an attempt whose policy has no limit. Zero means that the caller
	// waits forever.
	Patience time.Duration
	// Assumed lists what is in the policy file but not simulated.
	Assumed []string
}

// throttlePolicy returns the policy of the throttle, or a zero one.
func (c *Client) throttlePolicy() *capacity.ThrottlePolicy {
	if c.Throttle == nil {
		return new(capacity.ThrottlePolicy)
	}
	return c.Throttle
}

// A Load is a number of users that call a service from several processes.
type Load struct {
	Name    string
	Target  Target
	Clients int // processes, each with its own breakers and budgets; 0 means 1

	// Rate is the number of calls per second of an open load: calls begin at random
	// times, however long other calls take. It excludes Users.
	Rate float64
	// Users make calls one after another, with a random pause between two of them whose
	// mean is Think.
	Users int
	Think time.Duration
}

// An Effect is what an event does.
type Effect uint8

// The effects.
const (
	Capacity Effect = iota // the share Factor of the workers of a service works
	Slowness               // requests of a service take Factor times as long
	Errors                 // the share Factor of the requests of a service fails with an error of Class
	Down                   // a service refuses all connections
	Surge                  // Factor times the calls or users of a load
	Restart                // the processes of a load or service lose the state of breakers and budgets
)

// An Event disturbs a service or a load for some time.
type Event struct {
	At, For time.Duration // For is 0 for Restart
	Service string        // or ""
	Load    string        // or ""
	Effect  Effect
	Factor  float64
	Class   retry.Class // of Errors
}

// end returns when the event ends.
func (e *Event) end() time.Duration { return e.At + e.For }

// Begin returns when the first event begins, or Length if there is none.
func (s *System) Begin() time.Duration {
	begin := s.Length
	for i := range s.Events {
		begin = min(begin, s.Events[i].At)
	}
	return begin
}

// End returns when the last event ends, or Length if there is none.
func (s *System) End() time.Duration {
	if len(s.Events) == 0 {
		return s.Length
	}
	var end time.Duration
	for i := range s.Events {
		end = max(end, s.Events[i].end())
	}
	return end
}

// A Shape is the kind of a distribution.
type Shape uint8

// The shapes.
const (
	Exponential Shape = iota // the default
	Constant
	Lognormal
)

// Times is a distribution of durations: see [ConstantTime], [ExponentialTime] and
// [LognormalTime].
type Times struct {
	Shape Shape
	mean  float64 // seconds
	mu    float64 // of Lognormal: the logarithm of the median in seconds
	sigma float64
}

// ConstantTime returns the distribution whose every value is d.
func ConstantTime(d time.Duration) Times { return Times{Shape: Constant, mean: d.Seconds()} }

// ExponentialTime returns the exponential distribution with a mean.
func ExponentialTime(mean time.Duration) Times {
	return Times{Shape: Exponential, mean: mean.Seconds()}
}

// LognormalTime returns the lognormal distribution with a median and a 99th percentile,
// which must not be less.
func LognormalTime(p50, p99 time.Duration) Times {
	const z99 = 2.3263478740408408 // the 99th percentile of the standard normal distribution
	mu := math.Log(p50.Seconds())
	sigma := (math.Log(p99.Seconds()) - mu) / z99
	return Times{Shape: Lognormal, mean: math.Exp(mu + sigma*sigma/2), mu: mu, sigma: sigma}
}

// Mean returns the mean.
func (t Times) Mean() time.Duration { return time.Duration(nanoseconds(t.mean)) }

// draw returns a random duration in nanoseconds, multiplied by a factor.
func (t Times) draw(r *rand.Rand, factor float64) int64 {
	seconds := t.mean
	switch t.Shape {
	case Exponential:
		seconds *= r.ExpFloat64()
	case Lognormal:
		seconds = math.Exp(t.mu + t.sigma*r.NormFloat64())
	}
	return nanoseconds(seconds * factor)
}
