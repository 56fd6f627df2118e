package capacity

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

func TestNewThrottlePanics(t *testing.T) {
	for _, p := range []ThrottlePolicy{
		{K: -1}, {K: math.NaN()}, {Window: -1}, {Window: 9}, {MinCalls: -1}, {MaxShare: 1.1}, {MaxShare: -1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewThrottle(%+v) does not panic", p)
				}
			}()
			NewThrottle(p)
		}()
	}
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := NewThrottle(ThrottlePolicy{Window: 10 * time.Second})
		r := rand.New(rand.NewPCG(1, 2))
		sent := func(seconds int, accepted float64) float64 {
			n := 0
			for range seconds * 100 {
				time.Sleep(10 * time.Millisecond)
				if !th.Admit() {
					continue
				}
				n++
				if r.Float64() < accepted {
					th.Report(Success)
				} else {
					th.Report(Overload)
				}
			}
			return float64(n) / float64(seconds*100)
		}
		if share := sent(10, 1); share != 1 || !th.Calm() {
			t.Errorf("healthy: %v is sent", share)
		}
		if share := sent(20, 0.6); share < 0.95 {
			t.Errorf("60 %% are accepted: %v is sent", share)
		}
		sent(20, 0)
		if share := sent(20, 0); share == 0 || share > 0.08 {
			t.Errorf("down: %v is sent", share)
		}
		sent(40, 1)
		if th.Share() != 0 || !th.Calm() {
			t.Errorf("well again: the share is %v", th.Share())
		}
	})
}

// A throttle refuses nothing while there is little traffic: envoyproxy/envoy#16392.
func TestThrottleLittleTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var th Throttle
		for range 100 {
			time.Sleep(4 * time.Second) // 15 in a minute
			if !th.Admit() {
				t.Fatal("refused")
			}
			th.Report(Overload)
		}
		for range 20 {
			th.Report(Neutral)
		}
		if th.Share() != 0 {
			t.Errorf("the share is %v", th.Share())
		}
	})
}

// TestThrottleClock: a clock that goes back begins a new window.
func TestThrottleClock(t *testing.T) {
	now := time.Unix(1000, 0)
	s := NewThrottleState(ThrottlePolicy{MinCalls: 1}, now)
	s.Report(now, Overload)
	if now = now.Add(-time.Hour); s.Share(now) != 0 {
		t.Errorf("the share is %v, want 0", s.Share(now))
	}
	s.Report(now, Overload)
	if s.Share(now) == 0 {
		t.Error("the share is 0 after a failure in the new window")
	}
}
