package assigned

import (
	"time"

	"github.com/retrygen/retrygen/runtime/capacity"
)

// The package sets Window.
func nopeWindow(window time.Duration) []*capacity.Throttle {
	p := capacity.ThrottlePolicy{}
	p.Window = window
	return []*capacity.Throttle{capacity.NewThrottle(p), capacity.NewThrottle(capacity.ThrottlePolicy{Window: -1})}
}
