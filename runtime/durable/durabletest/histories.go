package durabletest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// The tests in this file run engines over the store. Their numbers are those of
// the histories in the design of durable retries.

// testHistory01CrashAnywhere: a process dies before and after each commit, in
// each call and in each wait. Another one completes the run: no attempt number
// is executed twice, and each retry takes one grant.
func testHistory01CrashAnywhere(t *testing.T, p *place) { p.crashAnywhere(crash{}) }

// testHistory02LostReplies: each reply of the store is lost once, before and
// after the commit. The run completes, and nothing is repeated.
func testHistory02LostReplies(t *testing.T, p *place) { p.loseReplies(crash{}) }

// testHoldCrashAnywhere is testHistory01CrashAnywhere for a run with durable.Hold. No
// step is executed with a result that another one replaces.
func testHoldCrashAnywhere(t *testing.T, p *place) { p.crashAnywhere(crash{hold: true}) }

// testHoldLostReplies is testHistory02LostReplies for a run with durable.Hold.
func testHoldLostReplies(t *testing.T, p *place) { p.loseReplies(crash{hold: true}) }

func (p *place) crashAnywhere(how crash) {
	s := p.store()
	ctx := s.limited()
	survive := func(c crash) bool {
		v := s.victim(c)
		died := v.die(ctx)
		e := v.recover(ctx)
		v.check(ctx, e)
		if err := e.Close(ctx); err != nil {
			p.t.Errorf("%v: closing the engine: %v", c, err)
		}
		return died
	}
	for _, at := range []func(*crash, int){
		func(c *crash, n int) { c.point = n }, func(c *crash, n int) { c.call = n }, func(c *crash, n int) { c.wait = n },
	} {
		waves(func(n int) bool {
			c := how
			at(&c, n)
			return survive(c)
		})
	}
}

func (p *place) loseReplies(how crash) {
	s := p.store()
	ctx := s.limited()
	waves(func(n int) bool {
		c := how
		c.point, c.reply = n, true
		v := s.victim(c)
		e := v.engine(v.f)
		_, err := v.run(ctx, e)
		if errors.Is(err, storage.ErrUnknown) { // the first lease, or the end of the run
			_, err = v.run(ctx, e)
		}
		if err != nil {
			p.t.Errorf("%v: %v", v.crash, err)
		}
		v.check(ctx, e)
		for step, want := range map[string][]int{"orders": {1}, "fetch": {1, 2, 3}, "charge": {1}, "mail": {1}} {
			if got := v.numbers(step); !slices.Equal(got, want) {
				p.t.Errorf("%v: attempts %v of %s were called, want %v", v.crash, got, step, want)
			}
		}
		failed := v.f.Failed() // the end of the lease is not of interest
		_ = e.Close(ctx)
		return failed
	})
}

// testHistory03ClaimDuringWrite: an update that has checked a fence and has not
// yet committed is not overtaken by one that raises it.
func testHistory03ClaimDuringWrite(t *testing.T, p *place) {
	s := p.store()
	owned := record(run("r"), 0)
	owned.Fence = 7
	s.put(owned)
	var once sync.Once
	var wg sync.WaitGroup
	keys := []storage.Key{run("r"), step("a")}
	s.update(keys, func(tx storage.Tx) (storage.Writes, error) {
		if tx.Records[0].Fence != 7 {
			t.Error("the claim has overtaken the end")
		}
		once.Do(func() {
			wg.Go(func() {
				err := s.Update(s.limited(), storage.Select{Keys: keys}, func(tx storage.Tx) (storage.Writes, error) {
					if got := numberIn(tx.Records[1]); got != 1 {
						t.Errorf("the claim sees %d in the step, want what the end has written", got)
					}
					claimed := tx.Records[0]
					claimed.Fence++
					return storage.Writes{Put: []storage.Record{claimed}}, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
		time.Sleep(200 * time.Millisecond)
		return storage.Writes{Put: []storage.Record{record(step("a"), 1)}}, nil
	})
	wg.Wait()
	if got := s.get(run("r"))[0].Fence; got != 8 {
		t.Errorf("got fence %d, want 8", got)
	}
}

// testHistory12SharedTransaction: 64 steps end at once, some of them with ids,
// errors and results that databases do not like.
func testHistory12SharedTransaction(t *testing.T, p *place) {
	s := p.store()
	e, err := durable.New(s.Store)
	if err != nil {
		t.Fatal(err)
	}
	const n = 64
	work := func(call bool) func(context.Context) error {
		return func(ctx context.Context) error {
			var wg, ready sync.WaitGroup
			ready.Add(n)
			for i := range n {
				wg.Go(func() { oddStep(t, ctx, i, call, &ready) })
			}
			wg.Wait()
			return errors.New("once more")
		}
	}
	for _, call := range []bool{true, false} {
		if err := e.Run(s.limited(), "it's 100% \u00e9 \U0010ffff", work(call)); err == nil || err.Error() != "once more" {
			t.Errorf("got error %v, want that of the function", err)
		}
	}
	if err := e.Close(s.limited()); err != nil {
		t.Error(err)
	}
}

// oddStep calls step i, which is executed only if call is set.
func oddStep(t *testing.T, ctx context.Context, i int, call bool, ready *sync.WaitGroup) {
	text := fmt.Sprintf("\x00 \xff \xed\xa0\x80 %d ' \" %s", i, strings.Repeat("\u00e9", 3000*(i%2)))
	policy := *chargePolicy
	policy.Name = text[:10]
	once := *policy.Policy
	once.MaxAttempts = 1
	policy.Policy = &once
	id := genapi.ID(text[:10], i)
	got, err := genapi.Call(ctx, &policy, id, genapi.Arguments("text", text), func(context.Context) (string, error) {
		if !call {
			t.Errorf("step %d was called again", i)
			return "", nil
		}
		ready.Done()
		ready.Wait()
		if i%4 == 0 {
			return "", errors.New(text)
		}
		return strings.ToValidUTF8(text, "?"), nil
	})
	if i%4 != 0 {
		if want := strings.ToValidUTF8(text, "?"); err != nil || got != want {
			t.Errorf("step %d: got %d bytes, %v; want its result", i, len(got), err)
		}
		return
	}
	failed, ok := errors.AsType[*durable.StepError](err)
	if !ok || !strings.HasPrefix(failed.Text, "\uFFFD \uFFFD \uFFFD") {
		t.Errorf("step %d: got error %.200v, want its text", i, err)
	}
}

// testHistory29Results: results up to 1 MiB come back, also in a later process.
func testHistory29Results(t *testing.T, p *place) {
	s := p.store()
	for _, size := range []int{0, 4090, 4100, 1<<20 - 2} {
		want := strings.Repeat("x", size)
		for process := range 2 {
			e, err := durable.New(s.Store)
			if err != nil {
				t.Fatal(err)
			}
			got, err := durable.Run(s.limited(), e, fmt.Sprint(size), func(ctx context.Context) (string, error) {
				return durable.Step(ctx, "large", nil, func(context.Context) (string, error) {
					if process > 0 {
						t.Error("the step was executed again")
					}
					return want, nil
				})
			})
			if err != nil || got != want {
				t.Errorf("process %d: got a result of %d bytes, %v; want %d", process, len(got), err, size)
			}
			if err := e.Close(s.limited()); err != nil {
				t.Error(err)
			}
		}
	}
}

// testHistory37Deleted: a run whose time has passed is deleted, and not executed
// again.
func testHistory37Deleted(t *testing.T, p *place) {
	s := p.store()
	e, err := durable.New(s.Store, durable.Lease(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	run := func() error {
		return e.Run(s.limited(), "job", func(ctx context.Context) error {
			_, err := durable.Step(ctx, "a", nil, func(context.Context) (int, error) { calls++; return calls, nil })
			return err
		}, durable.Retention(time.Millisecond))
	}
	for end := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		err = run()
	}
	if !errors.Is(err, durable.ErrExpired) || calls != 1 {
		t.Errorf("got error %v and %d calls, want ErrExpired after one call", err, calls)
	}
	if steps, _ := s.list(storage.Query{Kind: storage.KindStep}); len(steps) > 0 {
		t.Errorf("got %d steps, want none", len(steps))
	}
	if err := e.Close(s.limited()); err != nil {
		t.Error(err)
	}
}
