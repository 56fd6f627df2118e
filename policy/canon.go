package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
)

// A canon notes, while the decoder reads a file, how what it reads is written
// canonically. The decoder tells it what a key or a value means at the one place
// where it knows, so that no table of old names stands beside the language. A
// nil canon notes nothing.
type canon struct {
	*source
	removed []removal
}

// A removal is an entry of a map that says what another says.
type removal struct {
	from *node
	key  string
}

// risk returns the risk of an edit at a node.
func (n *node) risk(r risk) risk {
	if n.form.shared {
		return shared
	}
	return r
}

// home returns the map that an entry of n stands in, and the entry there.
func home(n *node, e *entry) (*node, *entry) {
	if e.from == nil {
		return n, e
	}
	return e.from, e.from.get(e.key)
}

// alias notes that an entry of n means what the canonical key does.
func (c *canon) alias(n *node, e *entry, key string) {
	c.synonym(n, e, key, nil)
}

// synonym notes the same of an entry whose values have other words as well.
func (c *canon) synonym(n *node, e *entry, key string, words map[string]string) {
	if c == nil {
		return
	}
	in, e := home(n, e)
	if have := n.get(key); have != nil {
		if has, _ := home(n, have); has == in {
			c.remove(in, e.key)
			return
		}
	}
	r := in.risk(e.value.risk(respelt))
	if in != n || n.form.merges { // the keys of both maps are renamed, or of none
		r = shared
	}
	if start, end, ok := c.key(e); ok {
		c.replace(start, end, key, r)
	}
	if to, has := words[e.value.text]; has {
		if start, end, ok := c.source.word(e.value); ok {
			c.replace(start, end, to, r)
		}
	}
}

// word notes the canonical word for a scalar.
func (c *canon) word(n *node, text string) {
	if c == nil {
		return
	}
	if start, end, ok := c.source.word(n); ok {
		c.replace(start, end, text, n.risk(respelt))
	}
}

// duration notes that a node is a duration.
func (c *canon) duration(n *node, value time.Duration) {
	switch {
	case c == nil:
	case n.isMap():
		c.whole(n, duration.Format(value))
	default:
		c.word(n, duration.Canonical(n.text))
	}
}

// whole notes a scalar in place of a map, however that is written. One with
// comments inside stays: they have no other place.
func (c *canon) whole(n *node, text string) bool {
	start, ok := c.begin(n)
	end, ok2 := c.end(n)
	if !ok || !ok2 || len(c.comments(start, end)) > 0 || inUse(n) {
		return false
	}
	if !n.form.flow {
		if n.form.anchor {
			return false
		}
		// On the line of its key, unless a comment stands between.
		for start > 0 && isBlank(c.text[start-1]) {
			start--
		}
		if c.text[max(start-1, 0)] != ':' {
			start, _ = c.begin(n)
		} else {
			text = " " + text
		}
	}
	c.replace(start, end, text, n.risk(respelt))
	return true
}

// inUse reports whether the text of a node has parts that stand elsewhere, or
// that something elsewhere names.
func inUse(n *node) bool {
	for _, e := range n.entries {
		if e.from != nil || e.value.form.alias || e.value.form.anchor || inUse(e.value) {
			return true
		}
	}
	return slices.ContainsFunc(n.items, func(item *node) bool { return item.form.alias || item.form.anchor || inUse(item) })
}

// durationText spells a duration canonically.
func durationText(n *node) string {
	if !n.isMap() {
		return duration.Canonical(n.text)
	}
	part := func(key string) int64 {
		if e := n.get(key); e != nil {
			v, _ := e.value.value.(int64)
			return v
		}
		return 0
	}
	return duration.Format(time.Duration(part("secs"))*time.Second + time.Duration(part("nanos")))
}

// exhausted: on_failure: stop is on_exhausted: fail.
func (c *canon) exhausted(n *node) {
	e := n.get("on_failure")
	if c == nil || e == nil {
		return
	}
	c.synonym(n, e, "on_exhausted", map[string]string{"stop": "fail"})
}

// jitter notes the canonical form of jitter and jitter_factor in n: false, true,
// a factor, or a mode; a map only for additive with a factor.
func (c *canon) jitter(n *node) {
	e := n.get("jitter")
	if c == nil || e == nil || e.value.form.alias || e.value.isNull() {
		return
	}
	in, e := home(n, e)
	beside := n.get("jitter_factor")
	if beside != nil {
		if has, _ := home(n, beside); has != in || beside.value.form.alias || beside.value.form.anchor {
			return // one of them may stay where the other goes
		}
	}
	n = in
	mode, factor := "proportional", ""
	if v, ok := e.value.value.(bool); ok && !v {
		mode = "none"
	} else if v, ok := e.value.value.(string); ok {
		mode = v
	} else if _, ok := number(e.value); ok {
		factor = e.value.text
	}
	for _, key := range []string{"mode", "factor"} {
		if p := e.value.get(key); p != nil && key == "mode" {
			mode = p.value.text
		} else if p != nil {
			factor = p.value.text
		}
	}
	if beside != nil && !beside.value.isNull() {
		factor = beside.value.text
	}
	text := jitterText(mode, factor)
	if e.value.isMap() {
		if strings.HasPrefix(text, "{") && beside == nil || !c.whole(e.value, text) {
			return
		}
	} else {
		start, end, ok := c.source.word(e.value)
		if !ok {
			return
		}
		if c.text[end-1] != '"' && start > 0 && c.isQuote(start-1) { // "full" is text; true and {…} are not
			start, end = start-1, end+1
		}
		r := respelt
		if beside != nil {
			r = moved
		}
		c.replace(start, end, text, e.value.risk(r))
	}
	if beside != nil {
		c.remove(n, "jitter_factor")
	}
}

func (c *canon) isQuote(i int) bool { return c.text[i] == '"' || c.text[i] == '\'' }

func jitterText(mode, factor string) string {
	value, err := strconv.ParseFloat(factor, 64)
	switch {
	case mode == "none" || factor != "" && err == nil && value == 0:
		return "false"
	case factor == "" && mode == "proportional":
		return "true"
	case factor == "":
		return mode
	case mode == "proportional":
		return factor
	}
	return "{mode: " + mode + ", factor: " + factor + "}"
}

// remove notes that an entry of n is to go.
func (c *canon) remove(n *node, key string) { c.removed = append(c.removed, removal{n, key}) }

// finish makes edits of the removals: what is cut out of a map depends on what
// else goes.
func (c *canon) finish() {
	for _, r := range c.removed {
		i := slices.IndexFunc(r.from.entries, func(e entry) bool { return e.key == r.key })
		if r.from.form.flow {
			c.cutFlow(r.from, i)
		} else {
			c.cutLine(r.from, i)
		}
	}
}

// cutFlow cuts an entry out of {…}, with the comma behind it, or else the one
// before.
func (c *canon) cutFlow(n *node, i int) {
	start, ok := c.entryStart(&n.entries[i])
	end, ok2 := c.entryEnd(&n.entries[i])
	if !ok || !ok2 {
		return
	}
	if next := c.skipBlank(end); next < len(c.text) && c.text[next] == ',' {
		start, end = c.cutTo(start, next+1)
	} else {
		// The last: with all before it that go as well.
		for i > 0 && slices.ContainsFunc(c.removed, func(r removal) bool { return r.from == n && r.key == n.entries[i-1].key }) {
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
		c.replace(start, end, "", n.risk(moved))
	}
}

// cutTo returns what is cut with the text before the comma that ends at i: the
// spaces after it, or the whole line; but no comment.
func (c *canon) cutTo(start, i int) (from, to int) {
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

func (c *canon) skipBlank(i int) int {
	for i < len(c.text) && isBlank(c.text[i]) {
		i++
	}
	return i
}

// cutLine cuts the lines of an entry, whose comment stays, on a line of its
// own.
func (c *canon) cutLine(n *node, i int) {
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
		c.replace(start, rest, "", n.risk(moved))
	case rest >= c.lineEnd(end):
		line := c.lineEnd(end)
		c.replace(c.lineStart(start), min(line+len(c.newline()), len(c.text)), "", n.risk(moved))
	}
}

func (c *canon) skipSpaces(i int) int {
	for i < len(c.text) && c.text[i] == ' ' {
		i++
	}
	return i
}
