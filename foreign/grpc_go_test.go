package foreign

import (
	"slices"
	"testing"

	"github.com/retrygen/retrygen/policy/rules"
)

// TestCheckGRPC: service configs are judged as grpc-go reads them.
func TestCheckGRPC(t *testing.T) {
	const retryPolicy = `"MaxAttempts": 4, "InitialBackoff": ".01s", "MaxBackoff": ".1s", "BackoffMultiplier": 2.0,
		"RetryableStatusCodes": ["UNAVAILABLE"]`
	for text, want := range map[string][]string{
		``:     {"1:1: error: grpc-go refuses this service config, which is empty: remove the option [P100]"},
		`null`: nil,
		`[{}]`: {"1:1: error: grpc-go refuses this service config, which is not a map: array [P100]"},
		`{"loadBalancingConfig": [{"round_robin": {}}]}`:                           nil,
		`{"loadBalancingPolicy": "round_robin", "healthCheckConfig": {}}`:          nil,
		`{"methodConfig": [{"name": [{}], "retryPolicy": {` + retryPolicy + `}}]}`: nil,
		`{"MethodConfig": [{"name": [{"service": "Timeout"}], "TIMEOUT": ".01s", "RetryPolicy": {` + retryPolicy + `}}]}`: {
			`1:65: error: only 2 of 4 attempts can begin within timeout 10ms: raise timeout, lower maxAttempts, or shorten ` +
				`the delays [P404]`,
		},
		`{` + retryPolicy + `}`: {
			`1:1: error: grpc-go ignores retryPolicy here: write it in an item of methodConfig, which has a name [P101]`,
		},
		`{"retryPolicy": {` + retryPolicy + `}}`: {
			`1:1: error: grpc-go ignores retryPolicy here: write it in an item of methodConfig, which has a name [P101]`,
		},
		"{\n  loadBalancingPolicy: round_robin\n}": {
			`2:3: error: grpc-go refuses this service config, which is not JSON: invalid character 'l' looking for ` +
				`beginning of object key string [P100]`,
		},
	} {
		var got []string
		for _, p := range checkGRPC([]byte(text)) {
			if p.Severity != rules.Info {
				got = append(got, p.String())
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", text, got, want)
		}
	}
}
