package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/shared"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/genapi"
	"github.com/retrygen/retrygen/runtime/override"
)

// A follower has a policy and a breaker that follow the overrides of a store.
type follower struct {
	live *retry.Live
	up   *breaker.Breaker
	set  *override.Set
	conn *shared.Connection
}

func follow(t *testing.T, store storage.Store) *follower {
	t.Helper()
	p := &follower{
		live: retry.NewLive(&retry.Policy{Name: "read", Schedule: retry.Schedule{MaxAttempts: 4}}),
		up:   breaker.New(breaker.Policy{Name: "up"}),
	}
	p.set = override.NewSet(genapi.LivePackage{
		Package: "example.com/shop", Policies: []*retry.Live{p.live},
		Shared: []genapi.LiveShared{{Breakers: []*breaker.Breaker{p.up}}},
	})
	var err error
	if p.conn, err = (shared.Link{Store: store, Overrides: p.set, Forgetful: true}).Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *follower) close(t *testing.T) {
	t.Helper()
	if err := p.conn.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// expect waits for the processes to look at the store, and compares what their calls see.
func expect(t *testing.T, attempts int, state breaker.State, processes ...*follower) {
	t.Helper()
	time.Sleep(1500 * time.Millisecond)
	synctest.Wait()
	for i, p := range processes {
		if got := p.live.Load().MaxAttempts; got != attempts || p.up.State() != state {
			t.Errorf("process %d: %d attempts, breaker %v; want %d, %v", i, got, p.up.State(), attempts, state)
		}
	}
}

// Every process follows an override within about a second, and it ends by itself. Who has
// done what is kept.
func TestOverride(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		client, err := admin.New(store)
		if err != nil {
			t.Fatal(err)
		}
		a, b := follow(t, store), follow(t, store)
		defer b.close(t)
		put := func(o override.Override, length time.Duration) override.Override {
			t.Helper()
			o, err := client.Override(t.Context(), o, length, admin.By("ada", "too much load"))
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		expect(t, 4, breaker.Closed, a, b)
		put(override.Override{Target: "*", MaxAttempts: 1}, time.Minute)
		open := put(override.Override{Target: "up", Breaker: override.HoldOpen}, time.Hour)
		expect(t, 1, breaker.Open, a, b)
		later := follow(t, store)
		defer later.close(t)
		expect(t, 1, breaker.Open, later)

		a.close(t)
		expect(t, 4, breaker.Closed, a)
		if list, err := client.Overrides(t.Context()); err != nil || len(list) != 2 || list[0].By != "ada" {
			t.Error(list, err)
		}
		time.Sleep(time.Minute)
		expect(t, 4, breaker.Open, b, later)
		if err := client.EndOverride(t.Context(), open.ID, admin.By("grace", "it works again")); err != nil {
			t.Error(err)
		}
		expect(t, 4, breaker.Closed, b, later)
		if err := client.EndOverride(t.Context(), open.ID); !errors.Is(err, durable.ErrNotFound) {
			t.Errorf("ended twice: %v", err)
		}

		var actions []string
		for entry, err := range client.Audit(t.Context(), storage.KindOverrides, "", "") {
			if err != nil {
				t.Fatal(err)
			}
			actions = append(actions, string(entry.Action)+" by "+entry.By.Name)
		}
		want := []string{"overrode by ada", "overrode by ada", "ended an override by grace"}
		if len(actions) != 3 || actions[0] != want[0] || actions[1] != want[1] || actions[2] != want[2] {
			t.Errorf("%q, want %q", actions, want)
		}
	})
}

func TestOverrideRefused(t *testing.T) {
	client, err := admin.New(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Override(t.Context(), override.Override{Target: "*", MaxAttempts: 1}, 0); err == nil {
		t.Error("an override without an end is accepted")
	}
	o := override.Override{Target: "*", MaxAttempts: 1}
	for range admin.MaxOverrides {
		if _, err := client.Override(t.Context(), o, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Override(t.Context(), o, time.Hour); !errors.Is(err, admin.ErrManyOverrides) {
		t.Errorf("got %v, want ErrManyOverrides", err)
	}
}
