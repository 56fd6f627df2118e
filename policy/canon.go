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
	changes []change
}

// A change rewrites one thing. It is made whole or not at all.
type change struct {
	moves   bool // of a setting to another key
	edits   []edit
	removed []removal
}

func (c change) empty() bool { return len(c.edits)+len(c.removed) == 0 }

// A removal is an entry of a map that says what another says.
type removal struct {
	from *node
	key  string
}

// begin begins a change.
func (c *canon) begin(moves bool) { c.changes = append(c.changes, change{moves: moves}) }

// replace adds to the change that was begun last.
func (c *canon) replace(start, end int, text string) {
	if string(c.text[start:end]) != text {
		last := &c.changes[len(c.changes)-1]
		last.edits = append(last.edits, edit{start, end, text})
	}
}

// remove notes that an entry of n is to go.
func (c *canon) remove(n *node, key string) {
	last := &c.changes[len(c.changes)-1]
	last.removed = append(last.removed, removal{n, key})
}

// with returns the text with changes made.
func (c *canon) with(changes []change) []byte {
	var edits []edit
	cut := cuts{source: c.source, removed: map[removal]bool{}}
	for _, change := range changes {
		edits = append(edits, change.edits...)
		for _, r := range change.removed {
			cut.removed[r] = true
		}
	}
	return c.apply(append(edits, cut.all()...))
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
	c.begin(false)
	in, e := home(n, e)
	if have := n.get(key); have != nil {
		if has, _ := home(n, have); has == in {
			c.remove(in, e.key)
			return
		}
	}
	if start, end, ok := c.key(e); ok {
		c.replace(start, end, key)
	}
	if to, has := words[e.value.text]; has {
		if start, end, ok := c.word(e.value); ok {
			c.replace(start, end, to)
		}
	}
}

// words notes the canonical words of an entry's values.
func (c *canon) words(e *entry, words map[string]string) {
	to, has := words[e.value.text]
	if c == nil || !has {
		return
	}
	c.begin(false)
	if start, end, ok := c.word(e.value); ok {
		c.replace(start, end, to)
	}
}

// duration notes that a node is a duration.
func (c *canon) duration(n *node, value time.Duration) {
	if c == nil {
		return
	}
	c.begin(false)
	if n.isMap() {
		c.whole(n, spell(value))
	} else if start, end, ok := c.word(n); ok {
		c.replace(start, end, duration.Canonical(n.text))
	}
}

// whole notes a scalar in place of a map, however that is written. One with
// comments inside stays: they have no other place.
func (c *canon) whole(n *node, text string) bool {
	start, ok := c.start(n)
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
			start, _ = c.start(n)
		} else {
			text = " " + text
		}
	}
	c.replace(start, end, text)
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
	return spell(time.Duration(part("secs"))*time.Second + time.Duration(part("nanos")))
}

func spell(d time.Duration) string { return duration.Canonical(duration.Format(d)) }

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
	c.begin(true)
	in, e := home(n, e)
	beside := n.get("jitter_factor")
	if beside != nil {
		if has, _ := home(n, beside); has != in || beside.value.form.alias || beside.value.form.anchor {
			return // one of them may stay where the other goes
		}
	}
	n = in
	text := jitterText(jitterOf(e, beside))
	if e.value.isMap() {
		if strings.HasPrefix(text, "{") && beside == nil || !c.whole(e.value, text) {
			return
		}
	} else {
		start, end, ok := c.word(e.value)
		if !ok {
			return
		}
		if c.text[start-1] == '"' || c.text[start-1] == '\'' { // "full" is text, true and {…} are not
			start, end = start-1, end+1
		}
		c.replace(start, end, text)
	}
	if beside != nil {
		c.remove(n, "jitter_factor")
	}
}

// jitterOf returns the mode, and the factor as it is written.
func jitterOf(e, beside *entry) (mode, factor string) {
	mode = "proportional"
	switch v := e.value.value.(type) {
	case bool:
		if !v {
			mode = "none"
		}
	case string:
		mode = v
	case int64, float64:
		factor = e.value.text
	case map[string]any:
		if p := e.value.written("mode"); p != nil {
			mode = p.value.text
		}
		if p := e.value.written("factor"); p != nil {
			factor = p.value.text
		}
	}
	if beside != nil && !beside.value.isNull() {
		factor = beside.value.text
	}
	return mode, factor
}

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
