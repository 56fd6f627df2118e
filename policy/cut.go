package policy

import "slices"

// cuts takes entries out of maps. What is cut for one depends on what else goes.
type cuts struct {
	*source
	removed map[removal]bool
	edits   []edit
}

// all returns the edits for all that is removed.
func (c *cuts) all() []edit {
	for r := range c.removed { // in any order: edits are sorted
		i := slices.IndexFunc(r.from.entries, func(e entry) bool { return e.key == r.key })
		if r.from.form.flow {
			c.cutFlow(r.from, i)
		} else {
			c.cutLine(r.from, i)
		}
	}
	return c.edits
}

func (c *cuts) cut(start, end int) { c.edits = append(c.edits, edit{start, end, ""}) }

// cutFlow cuts an entry out of {…}, with the comma behind it, or else the one
// before.
func (c *cuts) cutFlow(n *node, i int) {
	start, ok := c.entryStart(&n.entries[i])
	end, ok2 := c.entryEnd(&n.entries[i])
	if !ok || !ok2 {
		return
	}
	if next := c.skipBlank(end); next < len(c.text) && c.text[next] == ',' {
		start, end = c.cutTo(start, next+1)
	} else {
		// The last: with all before it that go as well.
		for i > 0 && c.removed[removal{n, n.entries[i-1].key}] {
			i--
			if start, ok = c.entryStart(&n.entries[i]); !ok {
				return
			}
		}
		for start > 0 && isBlank(c.text[start-1]) {
			start--
		}
		if start == 0 || c.text[start-1] != ',' {
			return // the only one, or a comment before it
		}
		start--
	}
	if len(c.comments(start, end)) == 0 {
		c.cut(start, end)
	}
}

// cutTo returns what is cut with the text before the comma that ends at i: the
// spaces after it, or the whole line; but no comment.
func (c *cuts) cutTo(start, i int) (from, to int) {
	_, alone := c.indent(start)
	line := c.lineEnd(i)
	switch to = c.skipSpaces(i); {
	case to < line:
		return start, to
	case alone:
		return c.lineStart(start), min(line+len(c.newline()), len(c.text))
	case c.text[start-1] == ' ':
		return start - 1, line
	}
	if to = c.skipBlank(line); to < len(c.text) && c.text[to] == '#' {
		to = line
	}
	return start, to
}

func (c *cuts) skipBlank(i int) int {
	for i < len(c.text) && isBlank(c.text[i]) {
		i++
	}
	return i
}

// cutLine cuts the lines of an entry, whose comment stays, on a line of its
// own.
func (c *cuts) cutLine(n *node, i int) {
	start, ok := c.entryStart(&n.entries[i])
	end, ok2 := c.entryEnd(&n.entries[i])
	if !ok || !ok2 {
		return
	}
	if _, alone := c.indent(start); !alone || len(c.comments(start, end)) > 0 {
		return
	}
	rest := c.skipSpaces(end)
	switch {
	case rest < len(c.text) && c.text[rest] == '#':
		c.cut(start, rest)
	case rest >= c.lineEnd(end):
		line := c.lineEnd(end)
		c.cut(c.lineStart(start), min(line+len(c.newline()), len(c.text)))
	}
}

func (c *cuts) skipSpaces(i int) int {
	for i < len(c.text) && c.text[i] == ' ' {
		i++
	}
	return i
}
