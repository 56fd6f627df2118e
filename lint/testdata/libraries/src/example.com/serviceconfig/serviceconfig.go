package serviceconfig

import (
	"fmt"

	"google.golang.org/grpc"
)

func literal() grpc.DialOption {
	return grpc.WithDefaultServiceConfig(`{"methodConfig": [{
		"name": [{"service": "echo.Echo"}],
		"retryPolicy": {
			"maxAttempts": 4, "initialBackoff": "5s", "maxBackoff": "5s", "backoffMultiplier": 1,
			"retryableStatusCodes": ["UNAVAILABLE"]},
		"timeout": "10s"}]}`) // want `only 3 of 4 attempts can begin within timeout 10s: raise timeout, lower maxAttempts.*\(P404; library\)`
}

const shorter = `
{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "5s", "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}` // want `maxBackoff.*\(P201; library\)`

func constant() grpc.DialOption { return grpc.WithDefaultServiceConfig(shorter) }

func again() grpc.DialOption { return grpc.WithDefaultServiceConfig(shorter) }

const retryPolicy = `{"maxAttempts": 4, "initialBackoff": "1s", "maxBackoff": "2s", "backoffMultiplier": 2, "retryableStatusCodes": []}`

func folded() grpc.DialOption {
	return grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": ` + retryPolicy + `}]}`) // want `grpc-go refuses an empty retryableStatusCodes, which retries nothing.*P108`
}

var unset = "{\"methodConfig\": [{\"name\": [{}], \"timeout\": \"5\"}]}" // want `grpc-go refuses "5" as timeout: it has no unit s.*P103`

func variable() grpc.DialOption { return grpc.WithDefaultServiceConfig(unset) }

func local() grpc.DialOption {
	bare := retryPolicy // want `grpc-go ignores retryPolicy here: write it in an item of methodConfig.*P101`
	return grpc.WithDefaultServiceConfig((bare))
}

func notJSON() grpc.DialOption {
	return grpc.WithDefaultServiceConfig("{loadBalancingPolicy: round_robin}") // want `which is not JSON: .*P100`
}

func ignored() grpc.DialOption {
	//retrylint:ignore P103 the server sends a config
	return grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "timeout": "1"}]}`)
}

func nopeBalancing() grpc.DialOption {
	return grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {}}`)
}

// grpc-go reads names in any case.
func nopeUpperCase() grpc.DialOption {
	return grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{"service": "echo.Echo"}], "waitForReady": true,
		"retryPolicy": {"MaxAttempts": 4, "InitialBackoff": ".01s", "MaxBackoff": ".01s", "BackoffMultiplier": 1.0,
		"RetryableStatusCodes": ["UNAVAILABLE"]}}]}`)
}

var Exported = `{"methodConfig": [{"name": [{}], "timeout": "1"}]}`

func nopeExported() grpc.DialOption { return grpc.WithDefaultServiceConfig(Exported) }

func nopeSet(seconds int) grpc.DialOption {
	text := `{"methodConfig": [{"name": [{}], "timeout": "1"}]}`
	if seconds > 0 {
		text = fmt.Sprintf(`{"methodConfig": [{"name": [{}], "timeout": "%ds"}]}`, seconds)
	}
	return grpc.WithDefaultServiceConfig(text)
}
