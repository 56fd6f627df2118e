package format

import (
	"slices"

	"github.com/retrygen/retrygen/internal/syntax"
)

// cuts removes entries from maps. The edit for one entry depends on which others
// are removed.
type cuts struct {
	*syntax.Source
	removed map[removal]bool
	edits   []edit
}

// all returns the edits for all removed entries.
func (c *cuts) all() []edit {
	for r := range c.removed { // in any order: edits are sorted
		i := slices.IndexFunc(r.from.Entries, func(e syntax.Entry) bool { return e.Key == r.key })
		if r.from.Form.Flow {
			c.cutFlow(r.from, i)
		} else {
			c.cutLine(r.from, i)
		}
	}
	return c.edits
}

func (c *cuts) cut(start, end int) { c.edits = append(c.edits, edit{start, end, ""}) }

// cutFlow cuts an entry out of {…}, with the comma after it, or else the comma
// before it.
func (c *cuts) cutFlow(n *syntax.Node, i int) {
	start, ok := c.EntryStart(&n.Entries[i])
	end, ok2 := c.EntryEnd(&n.Entries[i])
	if !ok || !ok2 {
		return
	}
	if next := c.skipBlank(end); next < len(c.Text) && c.Text[next] == ',' {
		start, end = c.cutTo(start, next+1)
	} else {
		// The last entry is cut together with removed entries just before it.
		for i > 0 && c.removed[removal{n, n.Entries[i-1].Key}] {
			i--
			if start, ok = c.EntryStart(&n.Entries[i]); !ok {
				return
			}
		}
		for start > 0 && syntax.IsBlank(c.Text[start-1]) {
			start--
		}
		if start == 0 || c.Text[start-1] != ',' {
			return // it is the only entry, or a comment is before it
		}
		start--
	}
	if len(c.Comments(start, end)) == 0 {
		c.cut(start, end)
	}
}

// cutTo returns the range to cut for an entry whose comma ends at i: with the
// spaces after the comma, or the whole line, but without a comment.
func (c *cuts) cutTo(start, i int) (from, to int) {
	_, alone := c.Indent(start)
	line := c.LineEnd(i)
	switch to = c.skipSpaces(i); {
	case to < line:
		return start, to
	case alone:
		return c.LineStart(start), min(line+len(c.Newline()), len(c.Text))
	case c.Text[start-1] == ' ':
		return start - 1, line
	}
	if to = c.skipBlank(line); to < len(c.Text) && c.Text[to] == '#' {
		to = line
	}
	return start, to
}

func (c *cuts) skipBlank(i int) int {
	for i < len(c.Text) && syntax.IsBlank(c.Text[i]) {
		i++
	}
	return i
}

// cutLine cuts the lines of an entry. A comment at their end becomes a line of its
// own.
func (c *cuts) cutLine(n *syntax.Node, i int) {
	start, ok := c.EntryStart(&n.Entries[i])
	end, ok2 := c.EntryEnd(&n.Entries[i])
	if !ok || !ok2 {
		return
	}
	if _, alone := c.Indent(start); !alone || len(c.Comments(start, end)) > 0 {
		return
	}
	rest := c.skipSpaces(end)
	switch {
	case rest < len(c.Text) && c.Text[rest] == '#':
		c.cut(start, rest)
	case rest >= c.LineEnd(end):
		line := c.LineEnd(end)
		c.cut(c.LineStart(start), min(line+len(c.Newline()), len(c.Text)))
	}
}

func (c *cuts) skipSpaces(i int) int {
	for i < len(c.Text) && c.Text[i] == ' ' {
		i++
	}
	return i
}
