package capacityliteral

import (
	"time"

	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
)

var (
	unset     = capacity.NewLimiter(capacity.LimiterPolicy{Name: "db", MaxWait: time.Second})        // want `NewLimiter panics: neither Limit nor Target.*RL513`
	empty     = capacity.NewLimiter(capacity.LimiterPolicy{})                                        // want `NewLimiter panics.*RL513`
	negative  = capacity.NewLimiter(capacity.LimiterPolicy{Limit: -1})                               // want `NewLimiter panics: negative field.*RL513`
	above     = capacity.NewLimiter(capacity.LimiterPolicy{Target: time.Second, Limit: 20, Max: 10}) // want `NewLimiter panics: Limit .* is not between Min and Max.*RL513`
	noEvents  = capacity.NewRate(capacity.RatePolicy{Per: time.Minute})                              // want `NewRate panics: Events .* is not set.*RL513`
	allShares = capacity.NewThrottle(capacity.ThrottlePolicy{MaxShare: 2})                           // want `NewThrottle panics: MaxShare.*RL513`
	both      = hedge.New(hedge.Policy{After: time.Second, Quantile: 0.95})                          // want `New panics: After and Quantile are set.*RL513`
	never     = hedge.New(hedge.Policy{Extra: 0.1})                                                  // want `New panics: neither After nor Quantile is set.*RL513`
	noQueue   = capacity.LimiterPolicy{Limit: 20, MaxWait: capacity.NoWait, Queue: 5}                // want `Queue has no effect, since MaxWait is NoWait: remove it \(RL513\)`
	fixed     = capacity.LimiterPolicy{Limit: 20, Min: 5}                                            // want `Min has no effect, since there is no Target.*RL513`
	fixedToo  = capacity.LimiterPolicy{Limit: 20, Max: 50}                                           // want `Max has no effect, since there is no Target.*RL513`
	leastTime = hedge.Policy{After: time.Second, AtLeast: time.Millisecond}                          // want `AtLeast has no effect, since After is fixed.*RL513`
	early     = capacity.ThrottlePolicy{K: 0.9}                                                      // want `K 0.9 refuses attempts although all succeed: write 1 or more.*P619`
	bursts    = []capacity.RatePolicy{{Events: 60, Per: time.Minute, Burst: 100}}                    // want `Burst 100 is more than the 60 attempts of a period, so that up to 159 start in one: lower Burst.*P619`
	often     = hedge.Policy{Quantile: 0.9}                                                          // want `10 % of the requests take longer than p90, but Extra allows second requests for 5 %: raise Extra to 0.1, or write a higher percentile.*P617`
	zero      = &capacity.Limiter{}                                                                  // want `the zero Limiter refuses every attempt: make it with NewLimiter.*RL513`
	zeroNew   = new(capacity.Limiter)                                                                // want `the zero Limiter refuses every attempt.*RL513`
	gate      = capacity.Gate{Limiter: &capacity.Limiter{}, Rate: &capacity.Rate{}}                  // want `the zero Limiter.*RL513` `the zero Rate limits nothing: make it with NewRate.*RL513`
	zeroHedge = new(hedge.Hedge)                                                                     // want `the zero Hedge starts no second request: make it with New.*RL513`
)

// ---- what must stay silent ----

func nopeValid(d time.Duration, n int) {
	capacity.NewLimiter(capacity.LimiterPolicy{Name: "db", Limit: 20, Queue: 5})
	capacity.NewLimiter(capacity.LimiterPolicy{Target: time.Second, Min: 5, Max: 50})
	capacity.NewLimiter(capacity.LimiterPolicy{Limit: n})
	capacity.NewLimiter(capacity.LimiterPolicy{Target: d, Min: 5})
	capacity.NewRate(capacity.RatePolicy{Events: 60, Per: time.Minute, Burst: 60})
	capacity.NewRate(capacity.RatePolicy{Events: n, Burst: 100})
	capacity.NewThrottle(capacity.ThrottlePolicy{Count: []string{"network"}})
	hedge.New(hedge.Policy{Quantile: 0.95, AtLeast: time.Millisecond})
	hedge.New(hedge.Policy{Quantile: 0.9, Extra: 0.1})
	hedge.New(hedge.Policy{Quantile: 0.9, Extra: float64(n)})
	hedge.New(hedge.Policy{After: d})
}

// What is missing may be set later.
func nopeLater() (capacity.LimiterPolicy, *capacity.RatePolicy) {
	return capacity.LimiterPolicy{}, &capacity.RatePolicy{Per: time.Minute}
}

// It has the defaults.
var nopeThrottle = &capacity.Throttle{}

var nopeNil = new(*capacity.Limiter)

func nopePointers() []*capacity.Limiter { return []*capacity.Limiter{} }
