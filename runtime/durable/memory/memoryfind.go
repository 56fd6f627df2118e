package memory

import (
	"iter"
	"slices"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// find returns the keys of a page of the records that q selects, and whether
// there are more. m.mu is held.
func (m *Store) find(q storage.Query) (keys []storage.Key, more bool) {
	limit := page(q.Limit)
	for key := range m.candidates(q) {
		switch {
		case !covers(&q, key):
			return keys, false
		case !q.Selects(m.records[key]):
			continue
		case len(keys) == limit:
			return keys, true
		}
		keys = append(keys, key)
	}
	return keys, false
}

// candidates returns the keys from the first one on that q may select, in the order
// of q. m.mu is held.
func (m *Store) candidates(q storage.Query) iter.Seq[storage.Key] {
	switch {
	case q.Order.ByCreation():
		return m.created.of(q)
	case q.Order == storage.OrderDue:
		return m.inTurn(&q)
	case q.Label != "":
		return m.labels.after(firstKey(&q), q.Label)
	case len(q.Runs) > 0:
		return m.ofRuns(&q)
	}
	return m.keys.after(firstKey(&q))
}

// ofRuns is candidates for a query with Runs.
func (m *Store) ofRuns(q *storage.Query) iter.Seq[storage.Key] {
	first := firstKey(q)
	return func(yield func(storage.Key) bool) {
		for _, run := range slices.Compact(slices.Sorted(slices.Values(q.Runs))) {
			from := storage.Key{Kind: q.Kind, Space: q.Space, Run: run}
			switch {
			case run < first.Run:
				continue
			case run == first.Run:
				from.ID = first.ID
			}
			for key := range m.keys.ofRun(from) {
				if !yield(key) {
					return
				}
			}
		}
	}
}

// inTurn is candidates for a query in the order in which records are due.
func (m *Store) inTurn(q *storage.Query) iter.Seq[storage.Key] {
	after, _ := q.Position()
	var keys []storage.Key
	for key := range m.keys.after(storage.Key{Kind: q.Kind, Space: q.Space}) {
		if key.Kind != q.Kind || key.Space != q.Space {
			break
		}
		r := m.records[key]
		if q.Selects(r) && (q.From == "" || q.PositionOf(r).Compare(after) > 0) {
			keys = append(keys, key)
		}
	}
	slices.SortStableFunc(keys, func(a, b storage.Key) int { return m.records[a].Due.Compare(m.records[b].Due) })
	return slices.Values(keys)
}

// page returns the size of a page that was asked for.
func page(limit int) int {
	if limit <= 0 || limit > storage.MaxPage {
		return storage.MaxPage
	}
	return limit
}

// firstKey returns the first key that q may select.
func firstKey(q *storage.Query) storage.Key {
	key := storage.Key{Kind: q.Kind, Space: q.Space, Run: max(q.Run, q.FromRun)}
	if q.Run != "" {
		key.ID = q.FromID
	}
	if p, err := q.Position(); err == nil && q.From != "" && p.Run >= key.Run {
		key.Run, key.ID = p.Run, max(key.ID, p.ID+"\x00") // no text has a NUL byte
	}
	return key
}

// covers reports whether key has the Kind and Space of q and, in the order of keys,
// precedes the end of the runs of q and, if q has one Run, of the IDs of q.
func covers(q *storage.Query, key storage.Key) bool {
	return q.Order != storage.OrderKey || key.Kind == q.Kind && key.Space == q.Space &&
		(q.BeforeRun == "" || key.Run < q.BeforeRun) &&
		(q.Run == "" || key.Run == q.Run && (q.BeforeID == "" || key.ID < q.BeforeID))
}
