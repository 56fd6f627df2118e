package admin

import (
	"context"
	"iter"

	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Limits on how many entries [histories] reads at a time.
const (
	fewEntries  = 4
	manyEntries = storage.MaxPage
)

// histories reads the entries of many records, which are asked for in the order of
// their keys. It reads ahead: more and more, as long as what it has read is what is
// asked for, so that a scan takes a query for 1000 entries, and a search one for each
// record. Read ahead are only entries without results.
type histories struct {
	n     *namespace.Namespace
	read  []storage.Entry // that follow the entries of the last record that was asked for
	limit int             // of the next query
	end   bool            // there are none after read
}

func newHistories(n *namespace.Namespace) *histories { return &histories{n: n, limit: fewEntries} }

// of returns the entries of a record. Their Result is nil. An error ends the sequence.
func (h *histories) of(ctx context.Context, key storage.Key) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		last := storage.Entry{Step: key, Attempt: -1} // before the first one
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
			entries, err := h.n.Store.Entries(ctx, last, h.limit)
			if err != nil {
				yield(storage.Entry{}, err)
				return
			}
			h.read, h.end = entries, len(entries) < h.limit
			h.limit = min(2*h.limit, manyEntries)
		}
	}
}

// skip drops the entries before those of a record. If none are left, what was read
// was not asked for, and less is read ahead.
func (h *histories) skip(key storage.Key) {
	n := 0
	for n < len(h.read) && h.read[n].Step.Compare(key) < 0 {
		n++
	}
	if h.read = h.read[n:]; n > 0 && len(h.read) == 0 {
		h.limit = max(h.limit/4, fewEntries)
	}
}
