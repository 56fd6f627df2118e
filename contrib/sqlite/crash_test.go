//go:build unix

package sqlite_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

var rounds = flag.Int("rounds", 100, "how often TestKill kills processes")

// total is the key of the sum of what all writers have done.
var total = storage.Key{Kind: storage.KindBudget, Space: "test", ID: "total"}

type count struct {
	N int `json:"n"`
}

// increment adds one to the counter of a writer and to the total, and an entry
// with the new value, all in one update.
func increment(store storage.Store, writer storage.Key) (n int, err error) {
	err = store.Update(context.Background(), storage.Select{Keys: []storage.Key{writer, total}},
		func(tx storage.Tx) (w storage.Writes, err error) {
			for _, r := range tx.Records {
				var c count
				if r.Version > 0 {
					if err := json.Unmarshal(r.Body, &c); err != nil {
						return w, err
					}
				}
				c.N++
				if r.Key == writer {
					n = c.N
				}
				r.Body = body(c.N)
				w.Put = append(w.Put, r)
			}
			w.Add = []storage.Entry{{Step: writer, Attempt: n, At: tx.Now, Body: body(n)}}
			return w, nil
		})
	return n, err
}

// childWrite increments the counters of some writers, and prints each increment
// that was acknowledged, until it is killed.
func childWrite(args []string) {
	store := must1(sqlite.Open(args[0]))
	must1(store.Hold(args[1]))
	fmt.Println("holds")
	var writers sync.WaitGroup
	for _, name := range args[2:] {
		writers.Go(func() {
			for {
				fmt.Printf("%s %d\n", name, must1(increment(store, stepKey(name))))
			}
		})
	}
	writers.Wait()
}

// TestKill kills processes with SIGKILL while they write: one with eight
// writers, or four with two each. Nothing that was acknowledged is lost, and
// all updates are whole.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	acknowledged := map[string]int{}
	versions := map[storage.Key]uint64{}
	writers := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for round := range *rounds {
		processes := 1
		if round%4 == 3 {
			processes = 4
		}
		each := len(writers) / processes
		var running []*process
		for i := range processes {
			args := append([]string{path, fmt.Sprintf("%d-%d", round, i)}, writers[i*each:(i+1)*each]...)
			running = append(running, start(t, "write", args...))
		}
		for _, p := range running {
			p.expect("holds")
		}
		checkKill(t, path, running, random, round, acknowledged)
		checkCounts(t, path, writers, acknowledged, versions)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	sum := 0
	for _, n := range acknowledged {
		sum += n
	}
	t.Logf("%d rounds, %d updates acknowledged", *rounds, sum)
	if *rounds > 0 && sum < *rounds {
		t.Errorf("%d updates in %d rounds", sum, *rounds)
	}
}

// checkKill kills each process after some increments, while the others go on,
// and notes what was acknowledged.
func checkKill(
	t *testing.T, path string, running []*process, random *rand.Rand, round int, acknowledged map[string]int,
) {
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	note := func(line string) {
		name, number, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("the child printed %q", line)
		}
		acknowledged[name] = max(acknowledged[name], n)
	}
	for i, p := range running {
		owner := fmt.Sprintf("%d-%d", round, i)
		for range random.IntN(10) {
			note(p.line())
		}
		if store.Dead(owner) {
			t.Errorf("owner %s is dead before its process is killed", owner)
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for _, line := range p.rest() {
			note(line)
		}
		p.kill()
		if !store.Dead(owner) {
			t.Errorf("owner %s is not dead after its process was killed", owner)
		}
	}
}

// checkCounts compares the counters, the total and the entries.
func checkCounts(
	t *testing.T, path string, writers []string, acknowledged map[string]int, versions map[storage.Key]uint64,
) {
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	sum := 0
	for _, name := range writers {
		n := checkCounter(t, store, stepKey(name), versions)
		sum += n
		if n < acknowledged[name] {
			t.Errorf("writer %s: %d stored, %d acknowledged", name, n, acknowledged[name])
		}
		var entries []storage.Entry
		var next storage.Cursor
		for more := true; more; more = next != "" {
			var page []storage.Entry
			if page, next, err = store.History(t.Context(), stepKey(name), next); err != nil {
				t.Fatal(err)
			}
			entries = append(entries, page...)
		}
		if len(entries) != n {
			t.Errorf("writer %s: %d entries, want %d", name, len(entries), n)
		}
		for i, e := range entries {
			if e.Attempt != i+1 {
				t.Errorf("writer %s: entry %d has number %d", name, i, e.Attempt)
			}
		}
	}
	if n := checkCounter(t, store, total, versions); n != sum {
		t.Errorf("the total is %d, the sum of the counters %d", n, sum)
	}
}

// checkCounter returns a counter, whose version is the same and never falls.
func checkCounter(t *testing.T, store storage.Store, key storage.Key, versions map[storage.Key]uint64) int {
	r := get(t, store, key)
	var c count
	if r.Version > 0 {
		if err := json.Unmarshal(r.Body, &c); err != nil {
			t.Fatal(err)
		}
	}
	if r.Version < versions[key] || r.Version != uint64(c.N) {
		t.Errorf("%v has version %d and value %d, after version %d", key, r.Version, c.N, versions[key])
	}
	versions[key] = r.Version
	return c.N
}
