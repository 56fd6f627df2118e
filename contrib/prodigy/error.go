package prodigy

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// An Error reports that a checkpoint is refused. Nothing from it is imported.
type Error struct {
	File   string // name of the file, as given to Read
	Line   int    // line in the file, starting at 1; 0 if the error has no position
	Column int    // column in bytes, starting at 1
	Path   string // path of the value, as in a.b["c"][0]; "" if the text is not JSON
	Text   string // what is wrong, and what to do
}

// Error returns the position of the error and its text.
func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", where, e.Line, e.Column)
	}
	if e.Path != "" {
		where += ": " + e.Path
	}
	return where + ": " + e.Text
}

// A Note describes something in a checkpoint that was interpreted differently from what
// the file says, or that was not read because it is not retry state.
type Note struct {
	File string // name of the file, as given to Read
	Path string // path of the value, as in [Error]
	Text string
}

// String returns the note as text for messages.
func (n Note) String() string { return n.File + ": " + n.Path + ": " + n.Text }

// lines returns the offsets at which the lines of a text start.
func lines(text []byte) []int {
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// position returns the line and the column of an offset.
func position(starts []int, offset int) (line, column int) {
	line, found := slices.BinarySearch(starts, offset)
	if found {
		line++
	}
	return line, 1 + offset - starts[line-1]
}

// short cuts what a message quotes.
func short(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
