package memory

import (
	"iter"
	"strings"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A labelList has the keys of the records of a [Store] that have a label, by kind,
// namespace and label.
type labelList struct{ keys keyList }

// labelKey returns the entry of a record with a label: no text has a NUL byte.
func labelKey(key storage.Key, label string) storage.Key {
	key.Space += "\x00" + label
	return key
}

// replace notes that the record before, if it exists, is replaced by after, if
// that does.
func (l *labelList) replace(before, after storage.Record) {
	if before.Label != "" {
		l.keys.remove(labelKey(before.Key, before.Label))
	}
	if after.Label != "" {
		l.keys.insert(labelKey(after.Key, after.Label))
	}
}

// after returns the keys of the records with a label from key on, in their order.
// The list must not change meanwhile.
func (l *labelList) after(key storage.Key, label string) iter.Seq[storage.Key] {
	return func(yield func(storage.Key) bool) {
		first := labelKey(key, label)
		for entry := range l.keys.after(first) {
			if entry.Kind != first.Kind || entry.Space != first.Space {
				return
			}
			entry.Space, _, _ = strings.Cut(entry.Space, "\x00")
			if !yield(entry) {
				return
			}
		}
	}
}
