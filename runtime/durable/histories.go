package durable

import (
	"context"
	"iter"
)

// Limits on how many entries [histories] reads at a time.
const (
	fewEntries  = 4
	manyEntries = MaxPage
)

// histories reads the entries of many records, which are asked for in the order of
// their keys. It reads ahead: more and more, as long as what it has read is what is
// asked for, so that a scan takes a query for 1000 entries, and a search one for each
// record. Read ahead are only entries without results.
type histories struct {
	e     *Engine
	read  []Entry // that follow the entries of the last record that was asked for
	limit int     // of the next query
	end   bool    // there are none after read
}

func (e *Engine) newHistories() *histories { return &histories{e: e, limit: fewEntries} }

// of returns the entries of a record. Their Result is nil. An error ends the sequence.
func (h *histories) of(ctx context.Context, key Key) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		last := Entry{Step: key, Attempt: -1} // before the first one
		h.skip(key)
		for {
			for len(h.read) > 0 {
				if h.read[0].Step != key {
					return
				}
				last, h.read = h.read[0], h.read[1:]
				if !yield(last, nil) {
					return
				}
			}
			if h.end {
				return
			}
			entries, err := h.e.store.Entries(ctx, last, h.limit)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			h.read, h.end = entries, len(entries) < h.limit
			h.limit = min(2*h.limit, manyEntries)
		}
	}
}

// skip drops the entries before those of a record. If none are left, what was read
// was not asked for, and less is read ahead.
func (h *histories) skip(key Key) {
	n := 0
	for n < len(h.read) && h.read[n].Step.Compare(key) < 0 {
		n++
	}
	if h.read = h.read[n:]; n > 0 && len(h.read) == 0 {
		h.limit = max(h.limit/4, fewEntries)
	}
}
