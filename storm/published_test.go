package storm

import (
	"math"
	"testing"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/budget"
)

// TestPublishedRetries restates the comparison in Marc Brooker, "Fixing retries with token
// buckets and circuit breakers" (2022): a service with capacity to spare fails a share of
// its requests. With N retries, calls fail with the power N+1 of that share, at the price of
// a load up to 1+N times as high. A bucket that gets a tenth of a token for each success
// behaves like N retries while few requests fail, and adds at most a tenth when many do.
func TestPublishedRetries(t *testing.T) {
	const n = 3
	for _, share := range []float64{0.01, 0.05, 0.3, 0.5, 0.8} {
		// Of the calls, share^k need more than k attempts.
		failed := math.Pow(share, n+1)
		load := (1 - failed) / (1 - share)

		gotFailed, gotLoad := failing(t, share, Client{Policy: retriedAtOnce(n)})
		near(t, "load of retries", gotLoad, load, 0.02)
		if math.Abs(gotFailed-failed) > 0.005 {
			t.Errorf("%v: %v of the calls with retries fail, want %v", share, gotFailed, failed)
		}
		tokens := budget.Policy{Name: "tenth", Ratio: 0.1, MinPerSecond: budget.NoRefill, Burst: 10}
		bucketFailed, bucketLoad := failing(t, share, Client{Policy: retriedAtOnce(n), Budget: &tokens})
		if bucketLoad > 1.11 {
			t.Errorf("%v: the load with a bucket is %v", share, bucketLoad)
		}
		switch {
		case share <= 0.05 && math.Abs(bucketFailed-gotFailed) > 0.01:
			t.Errorf("%v: with a bucket %v of the calls fail, want %v as without", share, bucketFailed, gotFailed)
		case share >= 0.3 && (bucketFailed < gotFailed || bucketFailed > share):
			t.Errorf("%v: with a bucket %v of the calls fail, want from %v to %v", share, bucketFailed, gotFailed, share)
		}
	}
}

// retriedAtOnce returns a policy with n retries without delays.
func retriedAtOnce(n int) retry.Policy {
	return retry.Policy{Name: "retries", Schedule: retry.Schedule{MaxAttempts: n + 1, InitialDelay: retry.None}}
}

// failing runs calls to a service that fails a share of its requests. It returns the share
// of the calls that fail, and the requests for each call.
func failing(t *testing.T, share float64, c Client) (failed, load float64) {
	t.Helper()
	sys := &System{
		Services: []Service{{Name: "service", Workers: 1000, Time: ConstantTime(time.Millisecond), Queue: Unlimited}},
		Loads:    []Load{{Name: "load", Target: Target{Service: "service", Client: c}, Rate: 1000}},
		Events: []Event{
			{For: time.Minute, Service: "service", Effect: Errors, Factor: share, Class: retry.ClassServerError},
		},
		Length: time.Minute,
	}
	r, err := Simulate(sys, Options{Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	var calls, ended, attempts float64
	for _, second := range r.Runs[0].Routes[0].Seconds[10:] { // without the bucket that is full at first
		calls += float64(second.Calls)
		attempts += float64(second.Attempts)
		failed += float64(second.Failed)
		ended += float64(second.OK + second.Failed)
	}
	return failed / ended, attempts / calls
}

// TestPublishedMetastability restates the first example in Bronson et al., "Metastable
// Failures in Distributed Systems" (HotOS 2021): a database that serves 300 requests per
// second gets 280, clients wait for a second and try once more, and after a short
// outage the load stays at 560.
func TestPublishedMetastability(t *testing.T) {
	c := Client{Policy: retry.Policy{
		Name: "twice", Schedule: retry.Schedule{MaxAttempts: 2, InitialDelay: retry.None}, AttemptTimeout: time.Second,
	}}
	sys := &System{
		Services: []Service{{Name: "db", Workers: 30, Time: ExponentialTime(100 * time.Millisecond), Queue: Unlimited}},
		Loads:    []Load{{Name: "web", Target: Target{Service: "db", Client: c}, Rate: 280}},
		Events:   []Event{{At: 20 * time.Second, For: 10 * time.Second, Service: "db", Effect: Capacity}},
		Length:   120 * time.Second,
	}
	r, err := Simulate(sys, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := &r.Verdicts[0]; v.Recovered() > 0 {
		t.Errorf("it %s, want never recovers", v.Text())
	}
	services, _ := r.Series()
	load := 0.0
	for _, offered := range services[0].Offered[60:] {
		load += offered / 60
	}
	near(t, "requests per second after the outage", load, 560, 0.03)
}
