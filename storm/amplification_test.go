package storm

import (
	"fmt"
	"math"
	"testing"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// TestAmplification: while the last service of a chain fails, it gets as many requests for
// each call as the attempts of all policies on the way multiply to, which is the number that
// retrylint reports (RL401).
func TestAmplification(t *testing.T) {
	for _, attempts := range [][]int{{3}, {3, 2}, {3, 3}, {2, 3, 2}, {4, 1, 3}} {
		t.Run(fmt.Sprint(attempts), func(t *testing.T) {
			sys := &System{Length: 2 * time.Minute}
			product := 1
			var call *Target
			for i := len(attempts) - 1; i >= 0; i-- {
				name := fmt.Sprintf("s%d", i)
				s := Service{Name: name, Workers: 2000, Time: ConstantTime(time.Millisecond), Queue: Unlimited}
				if call != nil {
					s.Calls = []Target{*call}
				}
				sys.Services = append(sys.Services, s)
				product *= attempts[i]
				call = &Target{name, Client{Policy: retry.Policy{
					Name: name, Schedule: retry.Schedule{MaxAttempts: attempts[i], InitialDelay: 10 * time.Millisecond},
					AttemptTimeout: 10 * time.Second,
				}}}
			}
			last := sys.Services[0].Name
			sys.Loads = []Load{{Name: "users", Target: *call, Clients: 5, Rate: 100}}
			sys.Events = []Event{{At: 20 * time.Second, For: 30 * time.Second, Service: last, Effect: Errors, Factor: 1,
				Class: retry.ClassServerError}}
			result, err := Simulate(sys, Options{Seeds: 2})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range result.Verdicts[0].Outcomes {
				if math.Abs(o.Amplification/float64(product)-1) > 0.05 || o.Amplified != last {
					t.Errorf("%s gets %.2f × the load, want %s and %d ×", o.Amplified, o.Amplification, last, product)
				}
			}
		})
	}
}
