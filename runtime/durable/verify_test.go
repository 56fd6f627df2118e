package durable

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// TestVerify changes records as no program does: each change is reported, and what
// engines have written is not.
func TestVerify(t *testing.T) {
	policy := retry.Policy{Name: "p", RetryUnknown: true,
		Schedule: retry.Schedule{MaxAttempts: 2, InitialDelay: time.Hour}}
	step := genapi.StepPolicy{Name: "S", Policy: &policy, ParkAfter: time.Second, Idempotent: true}
	for _, test := range []struct {
		name   string
		kind   storage.Kind
		change func(t *testing.T, r *storage.Record)
		want   string
	}{
		{"nothing", storage.KindStep, func(*testing.T, *storage.Record) {}, ""},
		{
			"not counted", storage.KindStep, edit(func(b *record.Step) { b.Attempts = 0 }),
			"attempt 1 is recorded, and 0 are counted",
		},
		{"open", storage.KindStep, edit(func(b *record.Step) { b.Open = &record.OpenAttempt{} }),
			"it is waiting, and its open attempt is: true"},
		{"negative wait", storage.KindStep, edit(func(b *record.Step) { b.Delay = -1 }), "it waits for -1ns"},
		{"body", storage.KindStep, func(_ *testing.T, r *storage.Record) { r.Body = []byte(`{"newer":1}`) }, "its body cannot be read"},
		{
			"month", storage.KindStep, func(_ *testing.T, r *storage.Record) { r.Bucket = r.Bucket.AddDate(0, 1, 0) },
			"it is in the month",
		},
		{"index", storage.KindStep, func(_ *testing.T, r *storage.Record) { r.Attention = false }, "not in the index"},
		{"label", storage.KindStep, func(_ *testing.T, r *storage.Record) { r.Label = "x" }, `its label is "x", but should be ""`},
		{
			"fence", storage.KindRun, func(_ *testing.T, r *storage.Record) { r.Fence = 0 }, "it has the fence 1, its run has 0",
		},
		{"completed", storage.KindRun, func(_ *testing.T, r *storage.Record) { r.Status = storage.StatusSucceeded },
			"it is succeeded without the time of its end"},
		{"owner", storage.KindRun, func(_ *testing.T, r *storage.Record) { r.Owner, r.Fence = "x", 0 }, "was never claimed"},
		{"due", storage.KindRun, func(_ *testing.T, r *storage.Record) {
			r.Status, r.Handler, r.Due = storage.StatusOpen, "h", time.Time{}
		},
			"never due"},
		{
			"job", storage.KindRun, edit(func(b *record.Run) { b.Job = &record.Job{Name: "other"} }),
			"it is parked, and its step should have a record",
		},
		{
			"job with a step", storage.KindRun, edit(func(b *record.Run) { b.Job = &record.Job{Step: "S/1", Name: "S"} }),
			"its run stands for it, too",
		},
		{"budget", storage.KindBudget, edit(func(b *record.CountBudget) { b.Retries, b.Consumed = 1, 2 }),
			"it is over-spent: 2 retries were granted, the limit is 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				e, err := New(store)
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close(t.Context())
				err = e.Run(t.Context(), "r", func(ctx context.Context) error {
					_, err := genapi.Call(
						ctx, &step, genapi.ID(1), genapi.Digest{}, func(context.Context) (int, error) { return 0, errors.New("x") },
					)
					return err
				}, Budget(job.BudgetPolicy{Retries: 5}))
				if parked := (*ParkedError)(nil); !errors.As(err, &parked) {
					t.Fatalf("got %v, want the run to park", err)
				}
				key := map[storage.Kind]storage.Key{
					storage.KindStep: e.ns.Key(storage.KindStep, "r", "S/1"), storage.KindRun: e.ns.Key(storage.KindRun, "r", ""),
					storage.KindBudget: e.ns.Key(storage.KindBudget, "r", ""),
				}[test.kind]
				sel := storage.Select{Keys: []storage.Key{key}}
				err = store.Update(t.Context(), sel, func(tx storage.Tx) (storage.Writes, error) {
					r := tx.Records[0]
					test.change(t, &r)
					return storage.Writes{Put: []storage.Record{r}}, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for v, err := range e.Admin().Verify(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, v.String())
				}
				if test.want == "" && got != nil {
					t.Errorf("got %q, want nothing", got)
				}
				if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, test.want) }) && test.want != "" {
					t.Errorf("got %q, want one with %q", got, test.want)
				}
			})
		})
	}
}

// edit returns a change of the body of a record.
func edit[B any](change func(*B)) func(*testing.T, *storage.Record) {
	return func(t *testing.T, r *storage.Record) {
		b, err := record.Decode[B](*r)
		if err != nil {
			t.Fatal(err)
		}
		change(&b)
		if err := record.Encode(r, &b); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExpire: the runs whose time has passed are deleted, and with a time those that
// ended before it; not those with dead letters.
func TestExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := New(memory.New())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(t.Context())
		finish := func(id string, keep time.Duration) {
			err := e.Run(t.Context(), id, func(ctx context.Context) error {
				_, err := Step(ctx, "s", nil, func(context.Context) (int, error) { return 1, nil })
				return err
			}, Retention(keep))
			if err != nil {
				t.Fatal(err)
			}
		}
		expire := func(before time.Time, by ...events.Operator) (ids []string) {
			for id, err := range e.Admin().Expire(t.Context(), before, by...) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
			return ids
		}
		finish("long", 1000*time.Hour)
		time.Sleep(time.Hour)
		mark := time.Now()
		finish("late", 1000*time.Hour)
		if ids := expire(time.Time{}); ids != nil {
			t.Errorf("%q expired before their time", ids)
		}
		if ids := expire(mark, admin.By("ada", "space")); !slices.Equal(ids, []string{"long"}) {
			t.Errorf("%q expired, want long", ids)
		}
		for a, err := range e.Admin().Audit(t.Context(), storage.KindRun, "long", "") {
			if err != nil || a.Action != admin.ActionExpired || a.By != admin.By("ada", "space") {
				t.Errorf("audit has %+v, %v", a, err)
			}
		}
		if err := e.Run(t.Context(), "long", nil); !errors.Is(err, ErrExpired) {
			t.Errorf("got %v, want ErrExpired", err)
		}
	})
}
