// Package breaker has circuit breakers, which stop calls to a service that fails:
// callers then fail fast, and the service can recover.
//
// A [Breaker] takes one sample of each attempt: [Success], [Failure] or [Neutral].
// It is closed at first and admits all attempts. It opens after three failures in a
// row, or by the other conditions of its [Policy], and then refuses all attempts for
// 30 seconds. After that it is half-open and admits one attempt, a probe, whose
// result closes it or opens it again.
//
// Calls under a retry.Policy share a breaker through retry.Shared. They ask it before
// every attempt and derive the sample from the error, and generated code does so
// with the breakers of a policy file:
//
//	var up = breaker.New(breaker.Policy{Name: "up", Failures: 5, OpenFor: 10 * time.Second})
//
//	user, err := retry.DoWith(ctx, &policy, retry.Shared{Breaker: up}, get)
//
// Code without retries uses a breaker by itself:
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
// FailureRate and SlowRate of a policy open a breaker by a share of the attempts of
// a time or of a number of attempts. The count within a time is a ring of ten
// buckets, as in Hystrix, so that its memory does not depend on the
// load.
//
// # Generations
//
// Each change of the state begins a generation, and a [Permit] has the number of
// the generation that admitted the attempt. Results of earlier generations do not
// count: an attempt that began before the breaker opened does not close it.
//
// # State as data
//
// A [Snapshot] is the state of a breaker as plain data. [Breaker.Save] and
// [Breaker.Restore] keep it across a restart of the process. For a breaker that is
// a record in a store, [Policy.Admit] and [Policy.Record] change a Snapshot in a
// transaction. [Breaker.Share] connects the breakers of several processes.
//
// # What it costs
//
// A closed breaker without rates costs an atomic load before an attempt and one
// after a success, and no lock, allocation or clock reading. [Breaker] has the costs
// of rates. There are no timers and no goroutines: an open breaker becomes half-open
// when it is used.
package breaker
