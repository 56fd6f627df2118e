package override_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/genapi"
	"github.com/retrygen/retrygen/runtime/override"
)

// shop and orders are generated packages, as far as overrides see them.
func packages() (shop, orders genapi.LivePackage) {
	policy := func(name string, attempts int) *retry.Live {
		return retry.NewLive(&retry.Policy{Name: name, Schedule: retry.Schedule{MaxAttempts: attempts}})
	}
	shop = genapi.LivePackage{
		Package: "example.com/shop", Policies: []*retry.Live{policy("read", 3), policy("read_slow", 5)},
		Shared: []genapi.LiveShared{{Breakers: []*breaker.Breaker{breaker.New(breaker.Policy{Name: "up"})}}},
	}
	orders = genapi.LivePackage{
		Package: "example.com/orders", Policies: []*retry.Live{policy("read", 4)}, Steps: []*retry.Live{policy("charge", 5)},
	}
	return shop, orders
}

// state describes what calls see: the attempts of each policy, and the breaker.
func state(shop, orders genapi.LivePackage) string {
	return fmt.Sprint(shop.Policies[0].Load().MaxAttempts, shop.Policies[1].Load().MaxAttempts,
		orders.Policies[0].Load().MaxAttempts, " ", shop.Shared[0].Breakers[0].State())
}

func TestSet(t *testing.T) {
	for _, tt := range []struct {
		name string
		put  []override.Override // each ends as many minutes from now as its index + 1
		want []string            // the state now, and after each minute
	}{
		{"all policies", []override.Override{{Target: "*", MaxAttempts: 1}}, []string{"1 1 1 closed", "3 5 4 closed"}},
		{"a pattern", []override.Override{{Target: "read_*", MaxAttempts: 2}}, []string{"3 2 4 closed", "3 5 4 closed"}},
		{"a package", []override.Override{{Target: "read", Package: "example.com/orders", MaxAttempts: 1}},
			[]string{"3 5 1 closed", "3 5 4 closed"}},
		{"the lowest limit counts", []override.Override{{Target: "read", MaxAttempts: 1}, {Target: "*", MaxAttempts: 2}},
			[]string{"1 2 1 closed", "2 2 2 closed", "3 5 4 closed"}},
		{"a limit above the policy", []override.Override{{Target: "*", MaxAttempts: 4}}, []string{"3 4 4 closed",
			"3 5 4 closed"}},
		{"open counts more than closed", []override.Override{{Target: "up", Breaker: "open"}, {Target: "*",
			Breaker: "closed"}},
			[]string{"3 5 4 open", "3 5 4 closed", "3 5 4 closed"}},
		{"the later end counts", []override.Override{{Target: "up", Breaker: "open"}, {Target: "*", Breaker: "open"}},
			[]string{"3 5 4 open", "3 5 4 open", "3 5 4 closed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shop, orders := packages()
				set := override.NewSet(shop, orders)
				defer set.Close()
				for i, o := range tt.put {
					o.Until = time.Now().Add(time.Duration(i+1) * time.Minute)
					if put, err := set.Put(o); err != nil || put.ID == "" {
						t.Fatal(put, err)
					}
				}
				for i, want := range tt.want {
					if got := state(shop, orders); got != want {
						t.Errorf("after %d minutes: %s, want %s", i, got, want)
					}
					if n := len(set.List()); n != len(tt.put)-i {
						t.Errorf("after %d minutes: %d overrides are listed", i, n)
					}
					time.Sleep(time.Minute)
					synctest.Wait()
				}
			})
		})
	}
}

func TestRemoveAndClose(t *testing.T) {
	shop, orders := packages()
	set := override.NewSet(shop, orders)
	until := time.Now().Add(time.Hour)
	first, err := set.Put(override.Override{Target: "*", MaxAttempts: 1, Until: until})
	if err != nil || !set.Remove(first.ID) || set.Remove(first.ID) {
		t.Error(err, "the override is not removed once")
	}
	if got := state(shop, orders); got != "3 5 4 closed" {
		t.Errorf("after Remove: %s", got)
	}
	if _, err := set.Put(override.Override{Target: "up", Breaker: override.HoldOpen, Until: until}); err != nil {
		t.Error(err)
	}
	set.Close()
	if got := state(shop, orders); got != "3 5 4 closed" {
		t.Errorf("after Close: %s", got)
	}
	if _, err := set.Put(override.Override{Target: "*", MaxAttempts: 1, Until: until}); err != override.ErrClosed {
		t.Errorf("Put after Close: %v", err)
	}
}

func TestPutRefuses(t *testing.T) {
	shop, orders := packages()
	set := override.NewSet(shop, orders)
	defer set.Close()
	soon := time.Now().Add(time.Minute)
	for want, o := range map[string]override.Override{
		"no target":                  {MaxAttempts: 1, Until: soon},
		"not a pattern":              {Target: "[", MaxAttempts: 1, Until: soon},
		"no end":                     {Target: "*", MaxAttempts: 1},
		"would have ended":           {Target: "*", MaxAttempts: 1, Until: time.Now().Add(-time.Second)},
		"more than 7 days":           {Target: "*", MaxAttempts: 1, Until: time.Now().Add(8 * 24 * time.Hour)},
		"either limits attempts":     {Target: "*", Until: soon},
		"set one of them":            {Target: "*", MaxAttempts: 1, Breaker: "open", Until: soon},
		"the least is 1":             {Target: "*", MaxAttempts: -1, Until: soon},
		"open or closed":             {Target: "*", Breaker: "half-open", Until: soon},
		"longer than":                {Target: "*", MaxAttempts: 1, Until: soon, Reason: strings.Repeat("x", 1001)},
		"pause their runs":           {Target: "charge", MaxAttempts: 1, Until: soon},
		"not UTF-8":                  {Target: "\xff", MaxAttempts: 1, Until: soon},
		"there are read, read_slow":  {Target: "write", MaxAttempts: 1, Until: soon},
		`no breaker matches "down"`:  {Target: "down", Breaker: "open", Until: soon},
		"no policy matches \"read\"": {Target: "read", Package: "example.com/other", MaxAttempts: 1, Until: soon},
	} {
		if _, err := set.Put(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	if got := state(shop, orders); got != "3 5 4 closed" {
		t.Errorf("a refused override changes something: %s", got)
	}
}

// A set takes over what a store has, leaves its own alone, and ends overrides by itself if the
// store says nothing more.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop, orders := packages()
		set := override.NewSet(shop, orders)
		defer set.Close()
		var events []string
		set.Observe(func(e override.Event) {
			events = append(events, fmt.Sprintln(e.Override.ID, e.Began, e.Expired))
		})
		until := time.Now().Add(time.Minute)
		stored := []override.Override{
			{ID: "a", Target: "read", MaxAttempts: 1, Until: until},
			{ID: "b", Target: "up", Breaker: override.HoldOpen, Until: until},
			{ID: "c", Target: "of another program", MaxAttempts: 1, Until: until},
		}
		step := func(list []override.Override, want string) {
			t.Helper()
			set.Follow(list)
			if got := state(shop, orders); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		step(stored, "1 5 1 open")
		step(stored, "1 5 1 open")
		step(stored[:1], "1 5 1 closed")
		if set.Remove("a") {
			t.Error("an override of the store is removed here")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := state(shop, orders); got != "3 5 4 closed" {
			t.Errorf("after the end: %s", got)
		}
		want := []string{"a true false\n", "b true false\n", "b false false\n", "a false true\n"}
		if !slices.Equal(events, want) {
			t.Errorf("events %q, want %q", events, want)
		}
	})
}

// An observer of a breaker that an override holds may use the set, and what it puts applies.
func TestBreakerObserverUsesSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop, orders := packages()
		set := override.NewSet(shop, orders)
		defer set.Close()
		until := time.Now().Add(time.Minute)
		shop.Shared[0].Breakers[0].Observe(func(c breaker.Change) {
			if c.To != breaker.Open {
				return
			}
			for _, o := range []override.Override{
				{Target: "*", MaxAttempts: 1, Until: until},
				{Target: "up", Breaker: override.HoldClosed, Until: until.Add(time.Minute)},
			} {
				if _, err := set.Put(o); err != nil {
					t.Error(err)
				}
			}
			if n := len(set.List()); n != 3 {
				t.Errorf("%d overrides, want 3", n)
			}
		})
		if _, err := set.Put(override.Override{Target: "up", Breaker: override.HoldOpen, Until: until}); err != nil {
			t.Fatal(err)
		}
		if got, want := state(shop, orders), "1 1 1 open"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, want := state(shop, orders), "3 5 4 closed"; got != want {
			t.Errorf("after the end: %s, want %s", got, want)
		}
		set.Close()
	})
}

// Goroutines put, end and list overrides of one breaker. Nothing is left of them.
func TestConcurrently(t *testing.T) {
	shop, orders := packages()
	set := override.NewSet(shop, orders)
	shop.Shared[0].Breakers[0].Observe(func(breaker.Change) { set.List() })
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			hold := []override.Hold{override.HoldOpen, override.HoldClosed}[i%2]
			for range 100 {
				o, err := set.Put(override.Override{Target: "up", Breaker: hold, Until: time.Now().Add(time.Hour)})
				if err != nil || !set.Remove(o.ID) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := state(shop, orders); got != "3 5 4 closed" {
		t.Errorf("afterwards: %s", got)
	}
	set.Close()
}

func TestMaxOverrides(t *testing.T) {
	shop, orders := packages()
	set := override.NewSet(shop, orders)
	defer set.Close()
	o := override.Override{Target: "*", MaxAttempts: 1, Until: time.Now().Add(time.Hour)}
	var last override.Override
	for range override.MaxOverrides {
		var err error
		if last, err = set.Put(o); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := set.Put(o); err != override.ErrManyOverrides {
		t.Errorf("got %v, want ErrManyOverrides", err)
	}
	set.Remove(last.ID)
	if _, err := set.Put(o); err != nil {
		t.Error(err)
	}
}

func TestLog(t *testing.T) {
	var text bytes.Buffer
	o := override.Override{ID: "a", Target: "*", MaxAttempts: 1, Until: time.Unix(0, 0), Reason: "too much load",
		By: "ada"}
	override.Log(slog.New(slog.NewTextHandler(&text, nil)))(override.Event{Override: o, Began: true})
	if !strings.Contains(text.String(), `msg="override began" id=a action="retries off" target=*`) {
		t.Error(text.String())
	}
	if got, want := o.Summary(), "retries off for * until 1970-01-01T00:00:00Z"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
