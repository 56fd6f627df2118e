package override

import (
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/genapi"
)

// An override ends within a minute of its time by the clock, whatever timers do while the
// machine is suspended. The test moves the end, since it cannot move the clock.
func TestClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := retry.NewLive(&retry.Policy{Name: "read", Schedule: retry.Schedule{MaxAttempts: 3}})
		s := NewSet(genapi.LivePackage{Package: "example.com/shop", Policies: []*retry.Live{read}})
		defer s.Close()
		var ended int
		s.Observe(func(e Event) {
			if e.Expired {
				ended++
			}
		})
		o, err := s.Put(Override{Target: "*", MaxAttempts: 1, Until: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if n := read.Load().MaxAttempts; n != 1 {
			t.Fatalf("%d attempts before the end", n)
		}
		s.mu.Lock()
		o.Until = time.Now().Round(0)
		s.own[o.ID] = o
		s.mu.Unlock()
		time.Sleep(lookEvery)
		synctest.Wait()
		if n := read.Load().MaxAttempts; n != 3 || ended != 1 {
			t.Errorf("%d attempts after the end, and %d events", n, ended)
		}
	})
}
