package policy

import (
	"slices"
	"strings"
)

// A strategyForm is a backoff as it is written: the strategy, its settings, and
// the first delay where that stands among them.
type strategyForm struct {
	line     int // that the name stands on
	strategy string
	settings []entry // but for type and the first delay
	initial  *entry
	retype   bool // the map is to be written anew
}

// backoff notes the canonical form of backoff in n: the name of the strategy, or
// a map of it to the settings that no other key has; the first delay is
// initial_delay.
func (c *canon) backoff(n *node) {
	e := n.get("backoff")
	if c == nil || e == nil || !e.value.isMap() {
		return
	}
	c.begin(true)
	n, e = home(n, e)
	f, params := formOf(e.value)
	if !f.retype {
		c.multiplier(params)
		return
	}
	if e.value.form.alias || e.value.form.anchor || inUse(e.value) {
		return
	}
	if n.get("initial_delay") != nil {
		f.initial = nil // it says the same
	}
	if e.value.form.flow {
		c.flowBackoff(n, e, f)
	} else {
		c.blockBackoff(n, e, f)
	}
}

// formOf takes a backoff map apart, which has no errors.
func formOf(m *node) (f strategyForm, params *node) {
	params = m
	if tag := m.get("type"); tag != nil {
		f = strategyForm{strategy: tag.value.text, line: tag.at.Line, retype: true}
	} else if len(m.entries) > 0 {
		f = strategyForm{strategy: m.entries[0].key, line: m.entries[0].at.Line}
		params = m.entries[0].value
		f.retype = len(params.entries) == 0
	}
	for i, e := range params.entries {
		switch {
		case e.key == "type" || e.value.isNull():
			f.retype = true
		case e.key == "initial" || e.key == "delay":
			f.initial, f.retype = &params.entries[i], true
		case e.key == "multiplier" && params.get("base") != nil && !params.get("base").value.isNull():
		default:
			f.settings = append(f.settings, e)
		}
	}
	return f, params
}

// multiplier is the older name of base.
func (c *canon) multiplier(params *node) {
	if e := params.get("multiplier"); e != nil {
		c.alias(params, e, "base")
	}
}

// settingText writes one setting of a strategy.
func settingText(e entry) string {
	switch e.key {
	case "multiplier", "base":
		return "base: " + e.value.text
	case "delays":
		items := make([]string, len(e.value.items))
		for i, item := range e.value.items {
			items[i] = durationText(item)
		}
		return "delays: [" + strings.Join(items, ", ") + "]"
	}
	return e.key + ": " + durationText(e.value)
}

// flowBackoff rewrites {…}, in a map of either kind.
func (c *canon) flowBackoff(n *node, e *entry, f strategyForm) {
	start, ok := c.start(e.value)
	end, ok2 := c.end(e.value)
	at, ok3 := c.entryStart(e)
	if !ok || !ok2 || !ok3 || len(c.comments(start, end)) > 0 {
		return
	}
	text := f.strategy
	if len(f.settings) > 0 {
		settings := make([]string, len(f.settings))
		for i, s := range f.settings {
			settings[i] = settingText(s)
		}
		text = "{" + f.strategy + ": {" + strings.Join(settings, ", ") + "}}"
	}
	if f.initial != nil {
		initial := "initial_delay: " + durationText(f.initial.value)
		if n.form.flow {
			c.replace(end, end, ", "+initial)
		} else {
			indent, alone := c.indent(at)
			if !alone {
				return
			}
			line := c.lineEnd(end)
			c.replace(line, line, c.newline()+indent+initial)
		}
	}
	c.replace(start, end, text)
}

// blockBackoff rewrites lines. The comment of a line goes with what it says,
// and those of lines that go stand above.
func (c *canon) blockBackoff(n *node, e *entry, f strategyForm) {
	at, ok := c.entryStart(e)
	start, ok2 := c.afterColon(e)
	end, ok3 := c.end(e.value)
	indent, alone := c.indent(at)
	deeper := e.value.Col - e.at.Col
	if !ok || !ok2 || !ok3 || !alone || deeper < 1 {
		return
	}
	end = c.lineEnd(end)
	above, beside := c.sortComments(start, end, f.lines(e), c.newline()+indent)
	step := strings.Repeat(" ", deeper)
	var b strings.Builder
	if len(f.settings) == 0 {
		b.WriteString(" " + f.strategy + beside(e.at.Line))
	} else {
		b.WriteString(beside(e.at.Line) + c.newline() + indent + step + f.strategy + ":" + beside(f.line))
		for _, s := range f.settings {
			b.WriteString(c.newline() + indent + step + step + settingText(s) + beside(s.at.Line))
		}
	}
	if f.initial != nil {
		b.WriteString(c.newline() + indent + "initial_delay: " + durationText(f.initial.value) + beside(f.initial.at.Line))
	}
	c.replace(at, at, above)
	c.replace(start, end, b.String())
}

// lines returns the lines of a backoff whose words are kept.
func (f strategyForm) lines(e *entry) []int {
	list := []int{e.at.Line}
	for _, s := range f.settings {
		list = append(list, f.line, s.at.Line)
	}
	if f.initial != nil {
		list = append(list, f.initial.at.Line)
	}
	return list
}

// sortComments parts the comments in text[start:end] into those that end one of
// the kept lines, which beside hands out once each, and the rest, each before a
// newline.
func (c *canon) sortComments(start, end int, kept []int, newline string) (above string, beside func(line int) string) {
	of := map[int]string{}
	for _, comment := range c.comments(start, end) {
		line := c.line(comment.start)
		if _, own := c.indent(comment.start); !own && slices.Contains(kept, line) {
			of[line] = " " + comment.text
		} else {
			above += comment.text + newline
		}
	}
	return above, func(line int) string {
		text := of[line]
		delete(of, line)
		return text
	}
}
