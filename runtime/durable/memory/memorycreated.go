package memory

import (
	"iter"
	"strings"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A createdList has the keys of the records of a [Store] with a time of creation, by
// kind, namespace and that time.
type createdList struct{ keys keyList }

// createdKey returns the entry of a record of a kind and a namespace. Its parts order
// as the parts of the position do: no text has a NUL byte.
func createdKey(kind storage.Kind, space string, p storage.Position) storage.Key {
	return storage.Key{Kind: kind, Space: space, Run: timeText(p.Time), ID: p.Run + "\x00" + p.ID}
}

// replace notes that the record before, if it exists, is replaced by after, if
// that does.
func (l *createdList) replace(before, after storage.Record) {
	entry := func(r storage.Record) storage.Key {
		return createdKey(r.Key.Kind, r.Key.Space, storage.Position{Time: r.Created, Run: r.Key.Run, ID: r.Key.ID})
	}
	if !before.Created.IsZero() {
		l.keys.remove(entry(before))
	}
	if !after.Created.IsZero() {
		l.keys.insert(entry(after))
	}
}

// of returns the keys of the records that q, whose order is by creation, may select, in
// that order.
func (l *createdList) of(q storage.Query) iter.Seq[storage.Key] {
	first := storage.Key{Kind: q.Kind, Space: q.Space} // precedes all of them
	if !q.CreatedFrom.IsZero() {
		first.Run = timeText(q.CreatedFrom)
	}
	end := storage.Key{Kind: q.Kind, Space: q.Space + "\x00"} // follows all of them
	if !q.CreatedBefore.IsZero() {
		end = storage.Key{Kind: q.Kind, Space: q.Space, Run: timeText(q.CreatedBefore)}
	}
	at, err := q.Position()
	from := createdKey(q.Kind, q.Space, at)
	var entries iter.Seq[storage.Key]
	switch continued := err == nil && q.From != ""; {
	case q.Order == storage.OrderNewest && continued && from.Compare(end) < 0:
		entries = l.keys.before(from)
	case q.Order == storage.OrderNewest:
		entries = l.keys.before(end)
	case continued && from.Compare(first) >= 0:
		from.ID += "\x00"
		entries = l.keys.after(from)
	default:
		entries = l.keys.after(first)
	}
	return func(yield func(storage.Key) bool) {
		for entry := range entries {
			if entry.Compare(first) < 0 || entry.Compare(end) >= 0 {
				return
			}
			run, id, _ := strings.Cut(entry.ID, "\x00")
			if !yield(storage.Key{Kind: q.Kind, Space: q.Space, Run: run, ID: id}) {
				return
			}
		}
	}
}
