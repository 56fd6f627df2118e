package format

import (
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
)

// backoff rewrites a backoff to the name of the strategy, or to a map from the name
// to its settings. The first delay becomes initial_delay.
func (w *rewriter) backoff(s syntax.Backoff) change {
	n, e := origin(s.Map, s.Entry)
	if s.Plain || e.Value.Form.Alias || e.Value.Form.Anchor || sharesText(e.Value) {
		return change{}
	}
	if n.Get("initial_delay") != nil {
		s.Initial = nil // the same delay
	}
	if e.Value.Form.Flow {
		return w.flowBackoff(n, e, s)
	}
	return w.blockBackoff(e, s)
}

// setting returns the text of one setting of a strategy.
func (w *rewriter) setting(s syntax.Setting) string { return s.Key + ": " + w.spell(s.Entry.Value) }

// flowBackoff rewrites a backoff that is written as {…}.
func (w *rewriter) flowBackoff(n *syntax.Node, e *syntax.Entry, s syntax.Backoff) (c change) {
	start, ok := w.Start(e.Value)
	end, ok2 := w.End(e.Value)
	at, ok3 := w.EntryStart(e)
	if !ok || !ok2 || !ok3 || len(w.Comments(start, end)) > 0 {
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
		initial := "initial_delay: " + w.spell(s.Initial.Value)
		if n.Form.Flow {
			w.replace(&c, end, end, ", "+initial)
		} else {
			indent, alone := w.Indent(at)
			if !alone {
				return change{}
			}
			line := w.LineEnd(end)
			w.replace(&c, line, line, w.Newline()+indent+initial)
		}
	}
	w.replace(&c, start, end, text)
	return c
}

// blockBackoff rewrites a backoff that is written in lines. The comment at the end
// of a line that is kept moves with the line. Other comments are written above.
func (w *rewriter) blockBackoff(e *syntax.Entry, s syntax.Backoff) (c change) {
	at, ok := w.EntryStart(e)
	start, ok2 := w.AfterColon(e)
	end, ok3 := w.End(e.Value)
	indent, alone := w.Indent(at)
	deeper := e.Value.Col - e.At.Col
	if !ok || !ok2 || !ok3 || !alone || deeper < 1 {
		return change{}
	}
	end = w.LineEnd(end)
	above, endOf := w.sortComments(start, end, keptLines(e, s), w.Newline()+indent)
	step := strings.Repeat(" ", deeper)
	var b strings.Builder
	if len(s.Settings) == 0 {
		b.WriteString(" " + s.Strategy + endOf(e.At.Line))
	} else {
		b.WriteString(endOf(e.At.Line) + w.Newline() + indent + step + s.Strategy + ":" + endOf(s.At.Line))
		for _, setting := range s.Settings {
			b.WriteString(w.Newline() + indent + step + step + w.setting(setting) + endOf(setting.Entry.At.Line))
		}
	}
	if s.Initial != nil {
		b.WriteString(w.Newline() + indent + "initial_delay: " + w.spell(s.Initial.Value) + endOf(s.Initial.At.Line))
	}
	w.replace(&c, at, at, above)
	w.replace(&c, start, end, b.String())
	return c
}

// keptLines returns the numbers of the lines that blockBackoff keeps.
func keptLines(e *syntax.Entry, s syntax.Backoff) []int {
	list := []int{e.At.Line}
	for _, setting := range s.Settings {
		list = append(list, s.At.Line, setting.Entry.At.Line)
	}
	if s.Initial != nil {
		list = append(list, s.Initial.At.Line)
	}
	return list
}

// sortComments divides the comments in text[start:end]. endOf returns the comment
// at the end of a kept line, once; above is the text of the others, each followed
// by newline.
func (w *rewriter) sortComments(
	start, end int, kept []int, newline string,
) (above string, endOf func(line int) string) {
	of := map[int]string{}
	for _, comment := range w.Comments(start, end) {
		line := w.Line(comment.Start)
		if _, own := w.Indent(comment.Start); !own && slices.Contains(kept, line) {
			of[line] = " " + comment.Text
		} else {
			above += comment.Text + newline
		}
	}
	return above, func(line int) string {
		text := of[line]
		delete(of, line)
		return text
	}
}
