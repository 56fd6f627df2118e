package rules

import (
	"fmt"
	"strconv"
	"strings"

	retry "github.com/retrygen/retrygen/runtime"
)

// The message of a finding is what is wrong, then what to do after the first colon:
// alternatives, which are separated by bars. Names that Go code or another system
// has other words for are in backquotes: `max_delay` is a field, `jitter: full`
// a setting, and `the delays` are all that decide the schedule. [className],
// [breakerName] and [attempts] mark arguments in the same way.

// Words contains the names to use in a message about Go code or another system.
type Words struct {
	// Field returns the name of a field or a setting, or "" if it has none. Advice to
	// change a field is omitted unless settable is true.
	Field func(Field) (name string, settable bool)
	// Class returns the name of a class. Nil means the name in policy files.
	Class func(retry.Class) string
	// Breaker returns the name of a breaker. Nil means the name in policy files.
	Breaker func(string) string
	// Attempts converts a value of max_attempts to the number that means the same in the
	// other system. Nil means that the other system also counts all attempts.
	Attempts func(int) int
}

// policyWords are the names of policy files.
var policyWords = Words{Field: func(f Field) (string, bool) { return string(f), true }}

// The first characters of marked arguments.
const (
	classMark    = "."
	breakerMark  = "!"
	attemptsMark = "#"
)

// className returns the argument of a message for a class.
func className(c retry.Class) string { return "`" + classMark + string(c) + "`" }

// breakerName returns the argument of a message for the name of a breaker.
func breakerName(name string) string { return "`" + breakerMark + name + "`" }

// attempts returns the argument of a message for a value of max_attempts.
func attempts(n int) string { return "`" + attemptsMark + strconv.Itoa(n) + "`" }

// In returns the text of the finding, with the names from w instead of the names used in
// policy files.
func (f Finding) In(w Words) string {
	if f.message == "" {
		return f.Text
	}
	text := write(f.message, w)
	if f.Class != "" {
		text = fmt.Sprintf("for errors of class %s: %s (%s)", w.class(f.Class), text, f.Broken)
	}
	return text
}

// write returns a message in the given words.
func write(message string, w Words) string {
	parts := strings.Split(message, "`") // names are those with odd indexes
	for i := 0; i < len(parts); i += 2 {
		what, advice, found := strings.Cut(parts[i], ": ")
		if !found {
			continue
		}
		parts[i] = what
		text, _ := w.fill(parts[:i+1])
		parts[i] = advice
		if advice := w.advice(strings.Join(parts[i:], "`")); advice != "" {
			text += ": " + advice
		}
		return text
	}
	text, _ := w.fill(parts)
	return text
}

// advice returns the alternatives whose fields can be set, as a sentence. A verb is
// omitted if the alternative before has the same one.
func (w Words) advice(list string) string {
	var kept []string
	last := ""
	for alternative := range strings.SplitSeq(list, " | ") {
		text, settable := w.fill(strings.Split(alternative, "`"))
		if !settable {
			continue
		}
		verb, rest, _ := strings.Cut(text, " ")
		if verb == last {
			text = rest
		}
		kept, last = append(kept, text), verb
	}
	if len(kept) > 1 {
		kept[len(kept)-1] = "or " + kept[len(kept)-1]
	}
	return strings.Join(kept, ", ")
}

// fill joins the parts of a text. The parts with odd indexes are marked. It reports
// whether all fields among them can be set.
func (w Words) fill(parts []string) (text string, settable bool) {
	var b strings.Builder
	settable = true
	for i, part := range parts {
		switch {
		case i%2 == 0:
			if i+1 < len(parts) {
				part = w.withoutArticle(part, parts[i+1])
			}
			b.WriteString(part)
		case strings.HasPrefix(part, classMark):
			b.WriteString(w.class(retry.Class(part[1:])))
		case strings.HasPrefix(part, breakerMark):
			b.WriteString(w.breaker(part[1:]))
		case strings.HasPrefix(part, attemptsMark):
			n, _ := strconv.Atoi(part[1:])
			if w.Attempts != nil {
				n = w.Attempts(n)
			}
			b.WriteString(strconv.Itoa(n))
		default:
			name, ok := w.Field(Field(part))
			if name == "" {
				name = part
			}
			settable = settable && ok
			b.WriteString(name)
		}
	}
	return b.String(), settable
}

// withoutArticle returns the text before a field without its article if the name of
// the field is another one, such as MaxDelaySeconds.
func (w Words) withoutArticle(text, field string) string {
	if name, _ := w.Field(Field(field)); name == "" || name == field {
		return text
	}
	for _, article := range []string{"a ", "an "} {
		if before, found := strings.CutSuffix(text, article); found && (before == "" || strings.HasSuffix(before, " ")) {
			return before
		}
	}
	return text
}

func (w Words) class(c retry.Class) string {
	if w.Class == nil {
		return string(c)
	}
	return w.Class(c)
}

func (w Words) breaker(name string) string {
	if w.Breaker == nil {
		return name
	}
	return w.Breaker(name)
}
