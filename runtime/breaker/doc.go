// Package breaker provides circuit breakers. A circuit breaker stops calls to a failing
// service, so that callers fail fast and the service can recover.
//
// A [Breaker] records a sample of each attempt: [Success], [Failure] or [Neutral]. At
// first it is closed and admits all attempts. After three failures in a row, or when
// another condition of its [Policy] is met, it opens and refuses all attempts for 30
// seconds. Then it becomes half-open and admits one attempt, which is called a probe. The
// result of the probe closes the breaker or opens it again.
//
// Calls under a retry.Policy share a breaker through retry.Shared. They ask the breaker
// for permission before every attempt, and derive the sample from the error of the
// attempt. Generated code does the same with the breakers of a policy file:
//
//	var up = breaker.New(breaker.Policy{Name: "up", Failures: 5, OpenFor: 10 * time.Second})
//
//	user, err := retry.DoWith(ctx, &policy, retry.Shared{Breaker: up}, get)
//
// Code without retries can use a breaker on its own:
//
//	permit, ok := up.Admit()
//	if !ok {
//		return errUnavailable
//	}
//	sample := breaker.Neutral // if get panics
//	defer func() { up.Record(permit, sample) }()
//	user, err := get(ctx)
//	if sample = breaker.Success; err != nil {
//		sample = breaker.Failure
//	}
//
// # Rates
//
// The FailureRate and SlowRate of a policy open a breaker when a given share of the
// latest attempts has failed or was slow. The latest attempts are either all attempts
// within a period or a fixed number of attempts. Attempts within a period are counted in
// a ring of ten buckets, as in Hystrix, so the memory use does not depend on the load.
//
// # Generations
//
// Each state change begins a new generation. A [Permit] contains the number of the
// generation in which its attempt was admitted. A result counts only in that generation,
// so an attempt that began before the breaker opened cannot close it.
//
// # State as data
//
// A [Snapshot] is the state of a breaker as plain data. With [Breaker.Save] and
// [Breaker.Restore], the state survives a restart of the process. If a breaker is a
// record in a store, [Policy.Admit] and [Policy.Record] update its Snapshot in a
// transaction. [Breaker.Share] connects the breakers of several processes.
//
// # What it costs
//
// A closed breaker without rates costs an atomic load before an attempt and another one
// after a success. It takes no lock, allocates nothing and reads no clock. For the cost
// of rates, see [Breaker]. A breaker uses no timers and no goroutines. Once OpenFor has
// passed, an open breaker becomes half-open the next time it is used.
package breaker
