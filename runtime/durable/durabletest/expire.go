package durabletest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// BenchmarkExpire measures how fast expired runs are deleted. Each run has the given
// number of steps, and each step has one entry. An operation is the deletion of one run.
func BenchmarkExpire(b *testing.B, store storage.Store, steps int) {
	e, err := durable.New(store)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close(context.WithoutCancel(b.Context()))
	const batch = 200
	for first := 0; first < b.N; first += batch {
		fillEnded(b, store, first, min(first+batch, b.N), steps)
	}
	b.ResetTimer()
	expired := 0
	for _, err := range e.Admin().Expire(b.Context(), time.Time{}) {
		if err != nil {
			b.Fatal(err)
		}
		expired++
	}
	if expired != b.N {
		b.Errorf("%d runs have expired, want %d", expired, b.N)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

// fillEnded creates runs that have succeeded, and are due to be deleted.
func fillEnded(b *testing.B, store storage.Store, first, end, steps int) {
	var w storage.Writes
	var sel storage.Select
	at := time.Now().UTC().Add(-time.Hour)
	bucket := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	for n := first; n < end; n++ {
		r := storage.Record{
			Key:    storage.Key{Kind: storage.KindRun, Run: fmt.Sprintf("order-%08d", n)},
			Status: storage.StatusSucceeded, Fence: 1, Handler: "settle", Bucket: bucket,
			Due: at, Created: at, Claimed: at, Ended: at, Input: []byte(`{"order": 1}`), Result: []byte(`"paid"`),
		}
		w.Put, sel.Keys = append(w.Put, r), append(sel.Keys, r.Key)
		for i := range steps {
			step := storage.Record{
				Key:    storage.Key{Kind: storage.KindStep, Run: r.Key.Run, ID: fmt.Sprint("charge/", i)},
				Status: storage.StatusSucceeded, Fence: 1, Bucket: bucket, Body: []byte(`{"name":"charge","attempts":1}`),
			}
			w.Put, sel.Keys = append(w.Put, step), append(sel.Keys, step.Key)
			w.Add = append(w.Add, storage.Entry{
				Step: step.Key, Attempt: 1, At: at, Bucket: bucket, Body: []byte(`{"outcome":"succeeded"}`),
			})
		}
	}
	err := store.Update(b.Context(), sel, func(storage.Tx) (storage.Writes, error) { return w, nil })
	if err != nil {
		b.Fatal(err)
	}
}
