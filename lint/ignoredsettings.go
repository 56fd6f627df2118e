package lint

import "golang.org/x/tools/go/ssa"

const awsConfig = "github.com/aws/aws-sdk-go-v2/config"

// ignoredAttempts describes that a number of attempts has no effect in the AWS SDK, or returns "".
// The SDK takes 0 for its default; it is no limit only in AddWithMaxAttempts.
func ignoredAttempts(call *ssa.Call) string {
	const zero = "0 attempts have no effect, so the default of 3 remains: write 1 for no retries, or use " +
		"AddWithMaxAttempts for no limit"
	if isCallOf(call, awsConfig, "WithRetryMaxAttempts") && isZero(call.Call.Args[0]) {
		return zero
	}
	w := writtenSettings{values: map[string][]ssa.Value{}}
	switch {
	case isCallOf(call, awsRetry, "NewStandard"):
		w.paths = []string{awsRetry}
		w.options(call.Call.Args[0])
		if n := w.values["MaxAttempts"]; len(n) == 1 && isZero(n[0]) && !w.changed {
			return zero
		}
	case isCallOf(call, awsConfig, "LoadDefaultConfig"):
		w.paths = []string{awsConfig}
		w.options(call.Call.Args[1])
		if w.sets("WithRetryer") && w.sets("WithRetryMaxAttempts") {
			return "WithRetryer makes WithRetryMaxAttempts ineffective: give the number to the retryer"
		}
	}
	return ""
}
