module github.com/retrygen/retrygen/contrib/redis

go 1.26.0

replace github.com/retrygen/retrygen => ../..

require (
	github.com/redis/go-redis/v9 v9.23.0
	github.com/retrygen/retrygen v0.0.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
