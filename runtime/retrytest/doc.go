// Package retrytest makes calls fail on purpose, and checks how a policy reacts. It is
// for tests, and for staging builds that inject faults. It does not import package
// testing.
//
//   - A [Faults] decides what each call does, either according to a script such as "503
//     503 300ms ok" or at random. The decorators that retrygen -faults generates use a
//     Faults, and your own fakes can do the same.
//   - A [Recorder] records the attempts, waits and stops of calls made with its context,
//     and [Expect] compares them with the expected sequence.
//   - A [Play] is a script together with the sequence that a policy promises for it. The
//     tests that retrygen -tests generates check one Play for each kind of failure.
//
// Run the tests in a bubble of testing/synctest, where waits take no time:
//
//	synctest.Test(t, func(t *testing.T) {
//		var rec retrytest.Recorder
//		store := NewRetryStore(NewFaultyStore(nil, retrytest.Script("503 network ok")))
//		_, err := store.Get(rec.Context(t.Context()), "id")
//		if err != nil {
//			t.Error(err)
//		}
//		retrytest.Expect(t, &rec, "attempt 503", "wait 1s", "attempt network", "wait 2s", "attempt ok")
//	})
//
// # Scripts
//
// A script lists what the first, second and later calls of a function do, separated by
// spaces. Calls after its end succeed.
//
//	ok          calls the function, as if there were no script
//	503         fails with an error that has this HTTP status
//	network     fails with an error of this class: network, timeout, canceled,
//	            server_error (503), rate_limit (429) or unknown
//	permanent   fails with an error that is marked by retry.Permanent
//	partial     calls the function and returns its results, together with an error of
//	            class network: the call took effect, but its caller cannot know that
//	partial=503 does the same with another error
//	hang        returns when its context has ended, with the error of the context
//	panic       panics
//	300ms 503   takes this time first; at the end of a script, a time is followed by ok
//	429@2s      fails with an error that asks for this wait (see retry.After)
//	503*3       does the same for 3 calls
//	503...      does the same for all calls that follow
//
// # Rules
//
// Rules give different functions different scripts. A rule is a pattern for the names of
// functions, a colon, and a script. The first rule whose pattern matches applies; *
// matches any characters. Rules are separated by semicolons or line breaks. A script
// without a pattern applies to all functions, and each function plays it from the start.
//
//	Store.Get: 503 503 ok; Store.*: hang; Mailer.Send: partial
//
// Instead of a script, a rule may have probabilities, separated by commas. Each call has
// one of the outcomes at random, or succeeds. With a seed, the random choices are
// repeatable.
//
//	seed 7; Store.Get: 5% 503, 1% 2s; *: 0.1% hang
package retrytest
