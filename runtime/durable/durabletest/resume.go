package durabletest

import (
	"context"
	"errors"
	"strconv"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A receipt is the result of the steps of [BenchmarkResume].
type receipt struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
}

// BenchmarkResume measures a run that has finished the given number of steps and calls
// each of them again. It reports the nanoseconds and the allocations per step.
func BenchmarkResume(b *testing.B, store storage.Store, steps int) {
	e, err := durable.New(store)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close(context.WithoutCancel(b.Context()))
	const run = "resume"
	charge := genapi.StepPolicy{Name: "charge", Policy: &retry.Policy{Name: "charge"}, Idempotent: true}
	stop := errors.New("stop") // the run can be continued
	resume := func(steps int) {
		err := e.Run(b.Context(), run, func(ctx context.Context) error {
			for i := range steps {
				_, err := genapi.Call(ctx, &charge, genapi.IntID(i), genapi.Arguments("amount", 100),
					func(context.Context) (receipt, error) { return receipt{"order-" + strconv.Itoa(i), 100}, nil })
				if err != nil {
					return err
				}
			}
			return stop
		})
		if !errors.Is(err, stop) {
			b.Fatal(err)
		}
	}
	resume(1)
	copyStep(b, store, storage.Key{Kind: storage.KindStep, Run: run, ID: "charge/0"}, steps)
	b.ReportAllocs()
	for b.Loop() {
		resume(steps)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps), "ns/step")
}

// copyStep writes copies of the step charge/0 up to a number of steps, without their
// histories.
func copyStep(b *testing.B, store storage.Store, step storage.Key, steps int) {
	records, err := store.Get(b.Context(), []storage.Key{step})
	if err != nil || records[0].Version == 0 {
		b.Fatalf("%s: version %d, error %v", step, records[0].Version, err)
	}
	for i := 1; i < steps; i += storage.MaxPage {
		var sel storage.Select
		var w storage.Writes
		for n := i; n < min(i+storage.MaxPage, steps); n++ {
			r := records[0]
			r.Key.ID = "charge/" + strconv.Itoa(n)
			w.Put, sel.Keys = append(w.Put, r), append(sel.Keys, r.Key)
		}
		err := store.Update(b.Context(), sel, func(storage.Tx) (storage.Writes, error) { return w, nil })
		if err != nil {
			b.Fatal(err)
		}
	}
}
