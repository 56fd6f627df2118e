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
	out := bytes.Clone(text)
	for _, m := range action.FindAllIndex(text, -1) {
		before := text[bytes.LastIndexByte(text[:m[0]], '\n')+1 : m[0]]
		after := text[m[1]:]
		if i := bytes.IndexByte(after, '\n'); i >= 0 {
			after = after[:i]
		}
		part := out[m[0]:m[1]]
		mark := []byte(string(Unknown))
		alone := isBlank(before) && isBlank(after)
		for i, c := range part {
			switch {
			case c == '\n' || c == '\r':
			case alone:
				part[i] = ' '
			case i < len(mark):
				part[i] = mark[i]
			default:
				part[i] = 'x'
			}
		}
	}
	return out
}

// isBlank reports whether a part of a line has nothing but actions.
func isBlank(text []byte) bool { return len(bytes.TrimSpace(action.ReplaceAll(text, nil))) == 0 }

// IsUnknown reports whether a text contains the value of an action of a template.
func IsUnknown(text string) bool { return strings.ContainsRune(text, Unknown) }
