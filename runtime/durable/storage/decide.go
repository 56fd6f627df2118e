package storage

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Decide calls decide with tx and returns its writes, with the new versions of the
// records. Stores call Decide, so that all stores accept the same writes.
//
// An error from decide is returned unchanged. The error matches [ErrStore] if decide
// panics, writes a record that is not in tx, writes a record twice, writes a record that
// it clears, or clears something that is not a run. The same applies if it writes text
// that is not valid UTF-8 or contains a NUL byte, which some databases refuse.
func (tx Tx) Decide(decide func(Tx) (Writes, error)) (Writes, error) {
	find := finder(tx.Records)
	tx.find = find
	w, err := call(decide, tx)
	if err != nil {
		return Writes{}, err
	}
	w.Put = slices.Clone(w.Put)
	written := make([]bool, len(tx.Records))
	for i := range w.Put {
		r := &w.Put[i]
		at := find(r.Key)
		if err := checkPut(r, at, written); err != nil {
			return Writes{}, err
		}
		r.Version, written[at] = tx.Records[at].Version+1, true
	}
	for _, key := range w.Delete {
		if find(key) < 0 {
			return Writes{}, unselected("deletes", key)
		}
	}
	for _, e := range w.Add {
		if find(e.Step) < 0 {
			return Writes{}, unselected("adds to", e.Step)
		}
		if err := checkText(e.Step.Space, e.Step.Run, e.Step.ID); err != nil {
			return Writes{}, err
		}
	}
	if err := checkClear(w, find); err != nil {
		return Writes{}, err
	}
	return w, nil
}

// checkClear reports why a store refuses to clear runs.
func checkClear(w Writes, find func(Key) int) error {
	if len(w.Clear) == 0 {
		return nil
	}
	cleared := make(map[Key]bool, len(w.Clear))
	for _, key := range w.Clear {
		if key.Kind != KindRun || find(key) < 0 {
			return unselected("clears", key)
		}
		cleared[key] = true
	}
	written := func(key Key) error {
		if cleared[Key{Kind: KindRun, Space: key.Space, Run: key.Run}] && slices.Contains(ClearedKinds, key.Kind) {
			return fmt.Errorf("%w: the decision writes record %.100q, which it clears", ErrStore, key)
		}
		return nil
	}
	for _, r := range w.Put {
		if err := written(r.Key); err != nil {
			return err
		}
	}
	for _, e := range w.Add {
		if err := written(e.Step); err != nil {
			return err
		}
	}
	return nil
}

// Notifies returns the namespaces in which w makes a run without an owner due, or ends a
// run that is Awaited. A [Notifier] reports these namespaces. Each namespace is returned
// once. The method is for stores.
func (tx Tx) Notifies(w Writes) (spaces []string) {
	var find func(Key) int
	due := func(r *Record) bool {
		return r.Owner == "" && (r.Status == StatusOpen || r.Status == StatusParked) &&
			!r.Due.IsZero() && !r.Due.After(tx.Now)
	}
	for i := range w.Put {
		r := &w.Put[i]
		if r.Key.Kind != KindRun || slices.Contains(spaces, r.Key.Space) {
			continue
		}
		if find == nil {
			find = finder(tx.Records)
		}
		var before Record
		if at := find(r.Key); at >= 0 {
			before = tx.Records[at]
		}
		if due(r) && !due(&before) || r.Awaited && r.Status.EndsRun() && !before.Status.EndsRun() {
			spaces = append(spaces, r.Key.Space)
		}
	}
	return spaces
}

// call calls decide, and returns a panic as an error.
func call(decide func(Tx) (Writes, error), tx Tx) (w Writes, err error) {
	defer func() {
		if p := recover(); p != nil {
			w, err = Writes{}, fmt.Errorf("%w: the decision panicked: %v", ErrStore, p)
		}
	}()
	return decide(tx)
}

// finder returns a function that returns the index of the first record with a
// key, or -1.
func finder(records []Record) func(Key) int {
	const few = 8 // for which a search from the start is fastest
	byKey := func(r Record, key Key) int { return r.Key.Compare(key) }
	switch {
	case len(records) <= few:
		return func(key Key) int {
			for i := range records { // not by slices.IndexFunc, which copies records
				if records[i].Key == key {
					return i
				}
			}
			return -1
		}
	case slices.IsSortedFunc(records, func(a, b Record) int { return a.Key.Compare(b.Key) }):
		return func(key Key) int {
			if i, found := slices.BinarySearchFunc(records, key, byKey); found {
				return i
			}
			return -1
		}
	}
	index := make(map[Key]int, len(records))
	for i := len(records) - 1; i >= 0; i-- {
		index[records[i].Key] = i
	}
	return func(key Key) int {
		if i, found := index[key]; found {
			return i
		}
		return -1
	}
}

// checkPut reports why a store refuses r, which is tx.Records[at].
func checkPut(r *Record, at int, written []bool) error {
	switch {
	case at < 0:
		return unselected("writes", r.Key)
	case written[at]:
		return fmt.Errorf("%w: the decision writes record %.100q twice", ErrStore, r.Key)
	}
	return checkText(r.Key.Space, r.Key.Run, r.Key.ID, r.Owner, r.Handler, r.Label)
}

func checkText(texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			return fmt.Errorf("%w: %.100q is not valid UTF-8 or has a NUL byte: encode it", ErrStore, text)
		}
	}
	return nil
}

func unselected(verb string, key Key) error {
	return fmt.Errorf("%w: the decision %s record %.100q, which was not selected", ErrStore, verb, key)
}
