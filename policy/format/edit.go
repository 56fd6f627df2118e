package format

import (
	"bytes"
	"cmp"
	"slices"
)

// An edit replaces text[start:end].
type edit struct {
	start, end int
	text       string
}

// apply returns the text with the edits applied. If two edits overlap, the one that
// begins first is applied; of two that begin together, the longer one.
func apply(text []byte, edits []edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int {
		insert := func(e edit) int {
			if e.start == e.end {
				return 0
			}
			return 1
		}
		return cmp.Or(
			cmp.Compare(a.start, b.start), cmp.Compare(insert(a), insert(b)),
			cmp.Compare(b.end, a.end), cmp.Compare(a.text, b.text),
		)
	})
	edits = slices.Compact(edits) // text that two aliases share is edited once
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.start < at {
			continue
		}
		out.Write(text[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(text[at:])
	return out.Bytes()
}
