package durabletest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// testInsert: a store that is an Inserter creates what [storage.Insertion.Record] says,
// except runs that exist, and notifies once of runs that are due.
func testInsert(t *testing.T, p *place) {
	s := p.store()
	inserter := optional[storage.Inserter](s)
	insert := func(n storage.Insertion) []bool {
		inserted, err := inserter.Insert(s.limited(), n)
		if err != nil {
			t.Fatal(err)
		}
		return inserted
	}
	future := time.Now().UTC().Truncate(time.Microsecond).Add(time.Hour)
	for i, n := range []storage.Insertion{
		{Space: "test", Handler: "h"},
		{Space: "test", Handler: "h@2", Priority: -7, Timeout: time.Hour, Body: []byte(`{"a":1}`)},
		{Space: "far", Handler: "i", Priority: 9, Start: future, Timeout: time.Minute},
		{Space: "far", Handler: "i", Start: month.AddDate(-1, 0, 0), Timeout: time.Second},
	} {
		for j := range 3 {
			id := fmt.Sprintf(`%d"ü\%d`, i, (j+1)%3)
			n.Runs = append(n.Runs, storage.NewRun{Run: id, Input: number(uint64(j))})
		}
		n.Runs[2].Input = nil
		exists := record(n.Key(n.Runs[1]), 1)
		s.put(exists)
		if got := insert(n); !slices.Equal(got, []bool{true, false, true}) {
			t.Fatalf("insertion %d: got %v, want all but the second", i, got)
		}
		if got := insert(n); slices.Contains(got, true) {
			t.Errorf("insertion %d: runs were created twice: %v", i, got)
		}
		exists.Version = 1
		equalRecord(t, s.get(exists.Key)[0], exists)
		for _, run := range []storage.NewRun{n.Runs[0], n.Runs[2]} {
			got := s.get(n.Key(run))[0]
			want := n.Record(run, got.Created)
			want.Version = 1
			equalRecord(t, got, want)
			if time.Since(got.Created).Abs() > time.Minute {
				t.Errorf("insertion %d: created at %v", i, got.Created)
			}
		}
	}
}

// testInsertAtOnce: of many who insert the same runs in other orders, one creates each of
// them, and those who wait for due runs are notified.
func testInsertAtOnce(t *testing.T, p *place) {
	s := p.store()
	inserter := optional[storage.Inserter](s)
	var wake <-chan struct{}
	if notifier, ok := s.Store.(storage.Notifier); ok {
		var err error
		if wake, err = notifier.Notifications(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	const runs = 500
	won := make([]int, runs)
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			in := storage.Insertion{Space: "test", Handler: "h"}
			for i := range runs {
				in.Runs = append(in.Runs, storage.NewRun{Run: fmt.Sprint((i*[...]int{1, 3, 7, 9}[n] + n) % runs)})
			}
			inserted, err := inserter.Insert(s.limited(), in)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for i, run := range in.Runs {
				if inserted[i] {
					var at int
					fmt.Sscan(run.Run, &at)
					won[at]++
				}
			}
		})
	}
	all.Wait()
	for i, n := range won {
		if n != 1 {
			t.Errorf("run %d was created %d times", i, n)
		}
	}
	if wake == nil {
		return
	}
	select {
	case <-wake:
	case <-s.limited().Done():
		t.Error("nobody was notified")
	}
}
