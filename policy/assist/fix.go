package assist

import (
	"bytes"
	"strings"

	"github.com/retrygen/retrygen/internal/spelling"
	"github.com/retrygen/retrygen/policy"
)

// An Edit replaces a part of the text.
type Edit struct {
	Range Range
	Text  string
}

// A Fix corrects a problem or a noncanonical spelling.
type Fix struct {
	Title string
	Edits []Edit
}

// Fix returns the correction that a problem's text suggests. The correction replaces a
// word with the intended one. If this would create a duplicate key, there is no
// correction.
func (d *Document) Fix(p policy.Problem) (Fix, bool) {
	word := spelling.Suggested(p.Text)
	if word == "" || p.Line < 1 || p.Line > len(d.lines) {
		return Fix{}, false
	}
	r := d.Underlined(p)
	start, end := d.Offset(r.Start), d.Offset(r.End)
	for _, part := range parts(string(d.Text[start:end])) {
		if spelling.Nearest(part.text, []string{word}) != "" {
			at := start + part.at
			if it, isKey := d.outline().find(at); isKey && it.parent.get(word) != nil {
				return Fix{}, false // the key would be there twice
			}
			return Fix{"Write " + word, []Edit{{d.span(at, at+len(part.text)), word}}}, true
		}
	}
	return Fix{}, false
}

// A part is one of the names in a text, which is T.M for a Go symbol.
type part struct {
	at   int
	text string
}

// parts returns the whole text without quotes, and then its names, the last one first.
func parts(text string) (list []part) {
	text, quote := strings.TrimRight(text, `"'`), 0
	for quote < len(text) && strings.ContainsRune(`"'`, rune(text[quote])) {
		quote++
	}
	list = []part{{quote, text[quote:]}}
	for end := len(text); end > quote; {
		at := strings.LastIndexAny(text[:end], "./") + 1
		if at = max(at, quote); at > quote || end < len(text) {
			list = append(list, part{at, text[at:end]})
		}
		end = at - 1
	}
	return list
}

// Canonical returns the edits that rewrite the file in its canonical spelling. If the
// file's meaning is ambiguous, there are none.
func (d *Document) Canonical() []Edit { return d.canonical() }

// Respell returns the fix that rewrites the lines of a range in their canonical spelling.
// It returns false if the lines already have the canonical spelling or the file's meaning
// is ambiguous.
func (d *Document) Respell(r Range) (Fix, bool) {
	for _, e := range d.canonical() {
		if e.Range.Start.Line <= r.End.Line && r.Start.Line <= max(e.Range.Start.Line, e.Range.End.Line-1) {
			return Fix{"Write the canonical spelling: " + title(e.Text), []Edit{e}}, true
		}
	}
	return Fix{}, false
}

// title returns the first line of a text, shortened.
func title(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 60
	if runes := []rune(line); len(runes) > most {
		line, more = string(runes[:most]), true
	}
	if more {
		line += " …"
	}
	return line
}

// Changes returns edits of whole lines that change the text into other.
func (d *Document) Changes(other []byte) (edits []Edit) {
	before, after := bytes.SplitAfter(d.Text, []byte("\n")), bytes.SplitAfter(other, []byte("\n"))
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		if i < len(before) && j < len(after) && bytes.Equal(before[i], after[j]) {
			i, j = i+1, j+1
			continue
		}
		m, n := resume(before[i:], after[j:])
		edits = append(edits, Edit{
			Range: Range{policy.Pos{Line: i + 1, Col: 1}, d.lineAt(i + m)}, Text: string(bytes.Join(after[j:j+n], nil)),
		})
		i, j = i+m, j+n
	}
	return edits
}

// lineAt returns the beginning of line i, counted from 0, or the end of the text.
func (d *Document) lineAt(i int) policy.Pos {
	if i < len(d.lines) {
		return policy.Pos{Line: i + 1, Col: 1}
	}
	return d.Place(len(d.Text))
}

// resume returns how many lines of each list are to be skipped until both have an equal
// line, the fewest lines together.
func resume(a, b [][]byte) (m, n int) {
	const most = 1000 // so that texts without equal lines take no longer
	for sum := 1; sum < min(len(a)+len(b), most); sum++ {
		for m := max(0, sum-len(b)+1); m <= min(sum, len(a)-1); m++ {
			if n := sum - m; bytes.Equal(a[m], b[n]) {
				return m, n
			}
		}
	}
	return len(a), len(b)
}
