package policy

import (
	"slices"
	"strings"
)

// backoff writes a backoff as the name of the strategy, or as a map of it to the
// settings that no other key has. The first delay becomes initial_delay.
func (w *rewriter) backoff(s Backoff) change {
	n, e := home(s.Map, s.Entry)
	if s.Plain || e.value.form.alias || e.value.form.anchor || inUse(e.value) {
		return change{}
	}
	if n.get("initial_delay") != nil {
		s.Initial = nil // the same delay
	}
	if e.value.form.flow {
		return w.flowBackoff(n, e, s)
	}
	return w.blockBackoff(e, s)
}

// setting writes one setting of a strategy.
func (w *rewriter) setting(s Setting) string { return s.Key + ": " + w.spell(s.Entry.value) }

// flowBackoff rewrites {…}, in a map of either kind.
func (w *rewriter) flowBackoff(n *node, e *entry, s Backoff) (c change) {
	start, ok := w.start(e.value)
	end, ok2 := w.end(e.value)
	at, ok3 := w.entryStart(e)
	if !ok || !ok2 || !ok3 || len(w.comments(start, end)) > 0 {
		return change{}
	}
	text := s.Strategy
	if len(s.Settings) > 0 {
		settings := make([]string, len(s.Settings))
		for i, setting := range s.Settings {
			settings[i] = w.setting(setting)
		}
		text = "{" + s.Strategy + ": {" + strings.Join(settings, ", ") + "}}"
	}
	if s.Initial != nil {
		initial := "initial_delay: " + w.spell(s.Initial.value)
		if n.form.flow {
			w.replace(&c, end, end, ", "+initial)
		} else {
			indent, alone := w.indent(at)
			if !alone {
				return change{}
			}
			line := w.lineEnd(end)
			w.replace(&c, line, line, w.newline()+indent+initial)
		}
	}
	w.replace(&c, start, end, text)
	return c
}

// blockBackoff rewrites lines. The comment of a line goes with what it says,
// and those of lines that go stand above.
func (w *rewriter) blockBackoff(e *entry, s Backoff) (c change) {
	at, ok := w.entryStart(e)
	start, ok2 := w.afterColon(e)
	end, ok3 := w.end(e.value)
	indent, alone := w.indent(at)
	deeper := e.value.Col - e.at.Col
	if !ok || !ok2 || !ok3 || !alone || deeper < 1 {
		return change{}
	}
	end = w.lineEnd(end)
	above, beside := w.sortComments(start, end, keptLines(e, s), w.newline()+indent)
	step := strings.Repeat(" ", deeper)
	var b strings.Builder
	if len(s.Settings) == 0 {
		b.WriteString(" " + s.Strategy + beside(e.at.Line))
	} else {
		b.WriteString(beside(e.at.Line) + w.newline() + indent + step + s.Strategy + ":" + beside(s.At.Line))
		for _, setting := range s.Settings {
			b.WriteString(w.newline() + indent + step + step + w.setting(setting) + beside(setting.Entry.at.Line))
		}
	}
	if s.Initial != nil {
		b.WriteString(w.newline() + indent + "initial_delay: " + w.spell(s.Initial.value) + beside(s.Initial.at.Line))
	}
	w.replace(&c, at, at, above)
	w.replace(&c, start, end, b.String())
	return c
}

// keptLines returns the lines of a backoff whose words are kept.
func keptLines(e *entry, s Backoff) []int {
	list := []int{e.at.Line}
	for _, setting := range s.Settings {
		list = append(list, s.At.Line, setting.Entry.at.Line)
	}
	if s.Initial != nil {
		list = append(list, s.Initial.at.Line)
	}
	return list
}

// sortComments parts the comments in text[start:end] into those that end one of
// the kept lines, which beside hands out once each, and the rest, each before a
// newline.
func (w *rewriter) sortComments(start, end int, kept []int, newline string) (above string, beside func(line int) string) {
	of := map[int]string{}
	for _, comment := range w.comments(start, end) {
		line := w.line(comment.start)
		if _, own := w.indent(comment.start); !own && slices.Contains(kept, line) {
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
