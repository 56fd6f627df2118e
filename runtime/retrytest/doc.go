// Package retrytest makes calls fail on purpose, and checks what a policy does about
// it. It is for tests, and for staging builds that inject faults; it imports no package
// testing.
//
//   - A [Faults] decides what each call does, by a script such as "503 503 300ms ok" or
//     by chance. Decorators that retrygen -faults writes ask it, and so may any fake.
//   - A [Recorder] records the attempts, waits and stops of the calls with its context,
//     and [Expect] compares them with the expected sequence.
//   - A [Play] is a script with what a policy promises for it. The tests that retrygen
//     -tests writes check one for each way in which all attempts may fail.
//
// Tests run in a bubble of testing/synctest, where no wait takes any time:
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
//	ok          calls the callee, as if there were no script
//	503         fails with an error that has this HTTP status
//	network     fails with an error of this class: network, timeout, canceled,
//	            server_error (503), rate_limit (429) or unknown
//	permanent   fails with an error that is marked by retry.Permanent
//	partial     calls the callee and returns its results, together with an error of
//	            class network: the call took effect, and its caller cannot know
//	partial=503 does the same with another error
//	hang        returns when its context has ended, with the error of the context
//	panic       panics
//	300ms 503   takes this time first; a time at the end of a script is one before ok
//	429@2s      fails with an error that asks for this wait (see retry.After)
//	503*3       does the same for 3 calls
//	503...      does the same for all calls that follow
//
// # Rules
//
// Several functions have scripts of their own. A rule is a pattern for names of
// functions, a colon, and a script. The first rule whose pattern matches applies; *
// stands for any characters. Rules are separated by semicolons or line breaks. A script
// without a pattern applies to all functions, and each plays it from its start.
//
//	Store.Get: 503 503 ok; Store.*: hang; Mailer.Send: partial
//
// Instead of a script, a rule may have chances, separated by commas. Each call draws
// one of them, or succeeds. A seed makes the draws repeatable.
//
//	seed 7; Store.Get: 5% 503, 1% 2s; *: 0.1% hang
package retrytest
