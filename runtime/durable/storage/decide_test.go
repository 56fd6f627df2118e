package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func stepKey(i int) Key { return Key{Kind: KindStep, Space: "s", Run: "r", ID: fmt.Sprintf("%04d", i)} }

// txOf returns a transaction of n records, of which the even ones exist.
func txOf(n int) Tx {
	var tx Tx
	for i := range n {
		r := Record{Key: stepKey(i)}
		if i%2 == 0 {
			r.Version = 7
		}
		tx.Records = append(tx.Records, r)
	}
	return tx
}

func TestDecideRaisesVersions(t *testing.T) {
	for _, n := range []int{2, 8, 9, 300} {
		for _, order := range []string{"sorted", "reversed"} {
			tx := txOf(n)
			if order == "reversed" {
				slices.Reverse(tx.Records)
			}
			puts := []Record{{Key: stepKey(0)}, {Key: stepKey(1), Version: 40}}
			w, err := tx.Decide(func(Tx) (Writes, error) { return Writes{Put: puts}, nil })
			if err != nil {
				t.Fatal(err)
			}
			if got := [2]uint64{w.Put[0].Version, w.Put[1].Version}; got != [2]uint64{8, 1} {
				t.Errorf("%d records, %s: got versions %v, want 8 and 1", n, order, got)
			}
			if puts[0].Version != 0 || puts[1].Version != 40 {
				t.Errorf("%d records, %s: what decide returned was changed", n, order)
			}
		}
	}
}

func TestDecideRefuses(t *testing.T) {
	own := errors.New("refused")
	cases := []struct {
		name   string
		decide func(Tx) (Writes, error)
		want   error
		text   string
	}{
		{"error", func(Tx) (Writes, error) { return Writes{Put: []Record{{Key: stepKey(0)}}}, own }, own, "refused"},
		{"panic", func(Tx) (Writes, error) { panic("no such state") }, ErrStore, "no such state"},
		{"put", writing(Writes{Put: []Record{{Key: stepKey(5)}}}), ErrStore, "step r 0005"},
		{"delete", writing(Writes{Delete: []Key{stepKey(5)}}), ErrStore, "step r 0005"},
		{"entry", writing(Writes{Add: []Entry{{Step: stepKey(5)}}}), ErrStore, "step r 0005"},
		{"twice", writing(Writes{Put: []Record{{Key: stepKey(1)}, {Key: stepKey(1)}}}), ErrStore, "twice"},
		{"clear", writing(Writes{Clear: []Key{{Kind: KindRun, Space: "s", Run: "r"}}}), ErrStore, "run r"},
		{"clear a step", writing(Writes{Clear: []Key{stepKey(1)}}), ErrStore, "step r 0001"},
		{"UTF-8", writing(Writes{Put: []Record{{Key: stepKey(1), Owner: "a\xff"}}}), ErrStore, `a\xff`},
		{"NUL", writing(Writes{Put: []Record{{Key: stepKey(1), Handler: "a\x00"}}}), ErrStore, `a\x00`},
	}
	for _, c := range cases {
		w, err := txOf(3).Decide(c.decide)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got error %v, want %v with %q", c.name, err, c.want, c.text)
		}
		if len(w.Put)+len(w.Delete)+len(w.Add) > 0 {
			t.Errorf("%s: got writes %v, want none", c.name, w)
		}
	}
}

// TestDecideRefusesCleared: an update that clears a run writes none of its steps.
func TestDecideRefusesCleared(t *testing.T) {
	run := Key{Kind: KindRun, Space: "s", Run: "r"}
	for name, w := range map[string]Writes{
		"put":   {Put: []Record{{Key: stepKey(1)}}},
		"entry": {Add: []Entry{{Step: stepKey(1)}}},
	} {
		tx := txOf(3)
		tx.Records = append(tx.Records, Record{Key: run, Version: 1})
		w.Clear = []Key{run}
		if _, err := tx.Decide(writing(w)); !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "which it clears") {
			t.Errorf("%s: got %v, want ErrStore", name, err)
		}
	}
	tx := Tx{Records: []Record{{Key: run, Version: 1}}}
	w, err := tx.Decide(writing(Writes{Clear: []Key{run}, Put: tx.Records, Add: []Entry{{Step: run}}}))
	if err != nil || len(w.Clear) != 1 || w.Put[0].Version != 2 {
		t.Errorf("got %+v and %v, want the run replaced and cleared", w, err)
	}
}

func TestDecideRefusesTextOfEntries(t *testing.T) {
	key := Key{Kind: KindStep, ID: "a\x00b"}
	_, err := Tx{Records: []Record{{Key: key}}}.Decide(writing(Writes{Add: []Entry{{Step: key}}}))
	if !errors.Is(err, ErrStore) {
		t.Errorf("got %v, want ErrStore", err)
	}
}

func writing(w Writes) func(Tx) (Writes, error) { return func(Tx) (Writes, error) { return w, nil } }
