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

// Unlimited is the Queue of a service that never refuses a request.
const Unlimited = math.MaxInt

// A System describes what is simulated. It is plain data.
type System struct {
	Name     string
	Services []Service
	Loads    []Load
	Events   []Event
	Length   time.Duration // length of the simulation, rounded up to seconds
}

// A Service serves requests.
type Service struct {
	Name      string
	Instances int   // processes, each with its own breakers and budgets; 0 means 1
	Workers   int   // workers of each instance; 0 means 1
	Time      Times // service time of a request, without the calls that it makes
	Queue     int   // number of requests that may wait for a worker in each instance, or Unlimited
	Notices   bool  // whether the service drops requests whose callers are gone
	Calls     []Target
	Parallel  bool // whether a request makes all Calls at once, instead of one after another
}

// Capacity returns the maximum number of requests per second that the workers can serve
// if calls to other services take no time.
func (s *Service) Capacity() float64 { return float64(s.workers()) / s.Time.mean }

func (s *Service) instances() int { return max(s.Instances, 1) }
func (s *Service) workers() int   { return s.instances() * max(s.Workers, 1) }

// A Target is a service that is called, and the client that calls it.
type Target struct {
	Service string
	Client  Client
}

// A Client contains the policy of calls, and the breaker, budget and limits that a
// process uses for them.
type Client struct {
	Policy  retry.Policy
	Breaker *breaker.Policy // nil means no breaker
	Budget  *budget.Policy  // nil means no budget

	Limiter  *capacity.LimiterPolicy  // nil means no concurrency limit
	Rate     *capacity.RatePolicy     // nil means no rate
	Throttle *capacity.ThrottlePolicy // nil means no throttle

	// BreakerStore, BudgetStore and RateStore report whether all processes share a single
	// breaker, budget or rate.
	BreakerStore, BudgetStore, RateStore bool
	// Patience limits an attempt for which the policy sets no limit. Zero means that the
	// caller waits forever.
	Patience time.Duration
	// Assumed lists the settings in the policy file that are not simulated.
	Assumed []string
}

// throttlePolicy returns the policy of the throttle, or the zero policy.
func (c *Client) throttlePolicy() *capacity.ThrottlePolicy {
	if c.Throttle == nil {
		return new(capacity.ThrottlePolicy)
	}
	return c.Throttle
}

// A Load is a number of users who call a service from several processes.
type Load struct {
	Name    string
	Target  Target
	Clients int // processes, each with its own breakers and budgets; 0 means 1

	// Rate is the number of calls per second of an open load. Calls begin at random
	// times, however long other calls take. Rate and Users are mutually exclusive.
	Rate float64
	// Users is the number of users. A user makes calls one after another, with a random
	// pause between them whose mean is Think.
	Users int
	Think time.Duration
}

// An Effect is what an event does.
type Effect uint8

// The effects.
const (
	Capacity Effect = iota // only the share Factor of a service's workers is available
	Slowness               // a service's requests take Factor times as long
	Errors                 // the share Factor of a service's requests fails with an error of Class
	Down                   // a service refuses all connections
	Surge                  // a load has Factor times as many calls or users
	Restart                // the processes of a load or service lose the state of their breakers and budgets
)

// An Event disturbs a service or a load for some time.
type Event struct {
	At, For time.Duration // For is 0 with Restart
	Service string        // name of the disturbed service, or ""
	Load    string        // name of the disturbed load, or ""
	Effect  Effect
	Factor  float64
	Class   retry.Class // class of the errors, for the effect Errors
}

// end returns when the event ends.
func (e *Event) end() time.Duration { return e.At + e.For }

// Begin returns the time at which the first event begins, or Length if there is none.
func (s *System) Begin() time.Duration {
	begin := s.Length
	for i := range s.Events {
		begin = min(begin, s.Events[i].At)
	}
	return begin
}

// End returns the time at which the last event ends, or Length if there is none.
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

// A Shape is the shape of a distribution.
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
	mu    float64 // for Lognormal: the logarithm of the median in seconds
	sigma float64
}

// ConstantTime returns the distribution in which every value is d.
func ConstantTime(d time.Duration) Times { return Times{Shape: Constant, mean: d.Seconds()} }

// ExponentialTime returns the exponential distribution with the given mean.
func ExponentialTime(mean time.Duration) Times {
	return Times{Shape: Exponential, mean: mean.Seconds()}
}

// LognormalTime returns the lognormal distribution with the given median and 99th
// percentile. p99 must not be less than p50.
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
