package postgres

import (
	"iter"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// write queues the statements for w. records are the stored ones, which the
// transaction has locked: whoever writes a record that exists has its lock, so only
// insertions can conflict. They are in the order of keys, as the locks are.
func (s *Store) write(b *pgx.Batch, records []storage.Record, w storage.Writes) error {
	stored := make(map[storage.Key]*storage.Record, len(records))
	for i := range records {
		stored[records[i].Key] = &records[i]
	}
	s.clear(b, w.Clear)
	if err := s.remove(b, w.Delete); err != nil {
		return err
	}
	for _, key := range w.Delete {
		delete(stored, key)
	}
	var inserts, updates [][]any
	slices.SortFunc(w.Put, func(a, b storage.Record) int { return a.Key.Compare(b.Key) })
	for i := range w.Put {
		r := &w.Put[i]
		old := stored[r.Key]
		if old != nil && same(old, r) { // a repeat writes nothing
			continue
		}
		args, err := arguments(r)
		if err != nil {
			return err
		}
		if old == nil || old.Version == 0 {
			inserts = append(inserts, args)
			continue
		}
		if r.Key.Kind == storage.KindStep && !old.Bucket.Equal(r.Bucket) {
			s.move(b, r.Key, args[11])
		}
		updates = append(updates, args)
	}
	s.apply(b, updates, func(t *table) (one, many string) { return t.update, t.updateMany })
	s.apply(b, inserts, func(t *table) (one, many string) { return t.insert, t.insertMany })
	return s.add(b, w.Add)
}

// apply queues a statement for rows of arguments, whose first is the kind.
func (s *Store) apply(b *pgx.Batch, rows [][]any, text func(*table) (one, many string)) {
	kind := func(row []any) storage.Kind { return storage.Kind(row[0].(int16)) }
	if len(rows) <= few {
		for _, args := range rows {
			one, _ := text(s.texts.table(kind(args)))
			b.Queue(one, args...)
		}
		return
	}
	for group := range byTable(s, rows, kind) {
		_, many := text(group.table)
		b.Queue(many, arrays(group.items)...)
	}
}

// A tableGroup is consecutive items of one table.
type tableGroup[T any] struct {
	table *table
	items []T
}

// byTable returns the items, which are sorted by kind, in groups of one table. The
// table of steps is between two groups of the other.
func byTable[T any](s *Store, items []T, kind func(T) storage.Kind) iter.Seq[tableGroup[T]] {
	return func(yield func(tableGroup[T]) bool) {
		for len(items) > 0 {
			table := s.texts.table(kind(items[0]))
			n := slices.IndexFunc(items, func(item T) bool { return s.texts.table(kind(item)) != table })
			if n < 0 {
				n = len(items)
			}
			if !yield(tableGroup[T]{table, items[:n]}) {
				return
			}
			items = items[n:]
		}
	}
}

// remove queues the deletion of records and of their entries.
func (s *Store) remove(b *pgx.Batch, keys []storage.Key) error {
	var rows [][]any
	for _, key := range slices.SortedFunc(slices.Values(keys), storage.Key.Compare) {
		if isTextKey(key) {
			rows = append(rows, keyArguments(key))
		}
	}
	s.apply(b, rows, func(t *table) (one, many string) { return t.remove, t.removeMany })
	if len(rows) > few {
		b.Queue(s.texts.dropMany, arrays(rows)...)
		return nil
	}
	for _, args := range rows {
		b.Queue(s.texts.dropEntries, args...)
	}
	return nil
}

// clear queues the deletion of what belongs to runs, and of its entries.
func (s *Store) clear(b *pgx.Batch, runs []storage.Key) {
	bySpace := map[string][]string{}
	for _, key := range runs {
		if isTextKey(key) {
			bySpace[key.Space] = append(bySpace[key.Space], key.Run)
		}
	}
	for _, space := range slices.Sorted(maps.Keys(bySpace)) {
		for _, text := range s.texts.clear {
			b.Queue(text, space, bySpace[space])
		}
	}
}

// move queues the move of a step and its entries to another month.
func (s *Store) move(b *pgx.Batch, step storage.Key, bucket any) {
	args := append(keyArguments(step), bucket)
	b.Queue(s.texts.steps.move, args...)
	b.Queue(s.texts.moveEntries, args...)
}

// add queues the insertion of entries, except those that exist.
func (s *Store) add(b *pgx.Batch, entries []storage.Entry) error {
	var rows [][]any
	byStep := func(a, b storage.Entry) int { return a.Step.Compare(b.Step) }
	for _, e := range slices.SortedStableFunc(slices.Values(entries), byStep) {
		args, err := entryArguments(&e)
		if err != nil {
			return err
		}
		rows = append(rows, args)
	}
	if len(rows) > few {
		b.Queue(s.texts.addMany, arrays(rows)...)
		return nil
	}
	for _, args := range rows {
		b.Queue(s.texts.add, args...)
	}
	return nil
}
