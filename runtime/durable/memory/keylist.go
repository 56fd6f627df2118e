package memory

import (
	"iter"
	"slices"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A keyList is a sorted set of keys. Its zero value is empty. It is a list of
// sorted chunks, so that neither an insertion nor a deletion moves many keys.
type keyList struct {
	chunks [][]storage.Key // none is empty
}

const maxChunk = 512

// find returns the chunk that has key or would get it, and its index there.
func (l *keyList) find(key storage.Key) (chunk, at int, found bool) {
	chunk, found = slices.BinarySearchFunc(
		l.chunks, key, func(c []storage.Key, key storage.Key) int { return c[0].Compare(key) },
	)
	if found {
		return chunk, 0, true
	}
	if chunk == 0 {
		return 0, 0, false
	}
	at, found = slices.BinarySearchFunc(l.chunks[chunk-1], key, storage.Key.Compare)
	return chunk - 1, at, found
}

// insert adds key, unless the list has it.
func (l *keyList) insert(key storage.Key) {
	if len(l.chunks) == 0 {
		l.chunks = append(l.chunks, []storage.Key{key})
		return
	}
	i, at, found := l.find(key)
	if found {
		return
	}
	c := slices.Insert(l.chunks[i], at, key)
	l.chunks[i] = c
	if len(c) > maxChunk {
		half := len(c) / 2
		l.chunks[i] = slices.Clip(c[:half])
		l.chunks = slices.Insert(l.chunks, i+1, slices.Clone(c[half:]))
	}
}

// remove removes key, if the list has it.
func (l *keyList) remove(key storage.Key) {
	i, at, found := l.find(key)
	if !found {
		return
	}
	l.chunks[i] = slices.Delete(l.chunks[i], at, at+1)
	if len(l.chunks[i]) == 0 {
		l.chunks = slices.Delete(l.chunks, i, i+1)
	}
}

// before returns the keys that precede key, the last one first. The list must not
// change meanwhile.
func (l *keyList) before(key storage.Key) iter.Seq[storage.Key] {
	return func(yield func(storage.Key) bool) {
		last, at, _ := l.find(key)
		for i := min(last, len(l.chunks)-1); i >= 0; i-- {
			c := l.chunks[i]
			if i == last {
				c = c[:at]
			}
			for _, k := range slices.Backward(c) {
				if !yield(k) {
					return
				}
			}
		}
	}
}

// after returns the keys from key on, in their order. The list must not change
// meanwhile.
func (l *keyList) after(key storage.Key) iter.Seq[storage.Key] {
	return func(yield func(storage.Key) bool) {
		first, at, _ := l.find(key)
		for i := first; i < len(l.chunks); i++ {
			for _, k := range l.chunks[i][at:] {
				if !yield(k) {
					return
				}
			}
			at = 0
		}
	}
}

// ofRun returns the keys from key on that have its Kind, Space and Run, in their order. The
// list must not change meanwhile.
func (l *keyList) ofRun(key storage.Key) iter.Seq[storage.Key] {
	return func(yield func(storage.Key) bool) {
		for k := range l.after(key) {
			if k.Kind != key.Kind || k.Space != key.Space || k.Run != key.Run || !yield(k) {
				return
			}
		}
	}
}
