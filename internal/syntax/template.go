package syntax

import (
	"bytes"
	"regexp"
	"strings"
)

// Unknown is the first character of a scalar that replaces an action of a template: its
// value is known only after the template is executed.
const Unknown = '\ue000'

// templateAction matches an action of a Helm template: one with a value of the
// chart, or one at the start of a line. Other systems have {{…}} inside of values.
var templateAction = regexp.MustCompile(
	`(?m)^[ \t]*\{\{-?[ \t]*(?:/\*|[a-z.$])|\{\{-?[^}\n]*\.(?:Values|Release|Chart|Capabilities)\b`)

// action matches any action of a template, and what is written for texts with braces.
var action = regexp.MustCompile(`(?s)\{\{-?\s*/\*.*?\*/\s*-?\}\}|\{\{.*?\}\}`)

// findAction returns where the first action of a Helm template is.
func findAction(text []byte) (at int, found bool) {
	if !bytes.Contains(text, []byte("{{")) {
		return 0, false
	}
	m := templateAction.FindIndex(text)
	if m == nil {
		return 0, false
	}
	return m[0] + bytes.Index(text[m[0]:m[1]], []byte("{{")), true
}

// withoutActions returns a template in which spaces replace each action that is alone on
// its lines, and an unknown scalar each other one. All offsets stay the same.
func withoutActions(text []byte) []byte {
	actions := action.FindAllIndex(text, -1)
	blank, out := bytes.Clone(text), bytes.Clone(text)
	for _, m := range actions {
		fill(blank[m[0]:m[1]], " ", ' ')
	}
	end, alone := 0, false // of the lines on which the last action is
	for _, m := range actions {
		if m[1] > end {
			start := bytes.LastIndexByte(text[:m[0]], '\n') + 1
			end = len(text)
			if i := bytes.IndexByte(text[m[1]:], '\n'); i >= 0 {
				end = m[1] + i
			}
			alone = len(bytes.TrimSpace(blank[start:end])) == 0
		}
		if alone {
			copy(out[m[0]:m[1]], blank[m[0]:m[1]])
		} else {
			fill(out[m[0]:m[1]], string(Unknown), 'x')
		}
	}
	return out
}

// fill replaces the first bytes of a text, and then the rest, but no ends of lines.
func fill(text []byte, first string, rest byte) {
	for i, c := range text {
		switch {
		case c == '\n' || c == '\r':
		case i < len(first):
			text[i] = first[i]
		default:
			text[i] = rest
		}
	}
}

// IsUnknown reports whether a text contains the value of an action of a template.
func IsUnknown(text string) bool { return strings.ContainsRune(text, Unknown) }
