// Package excerpt prints the line that a message is about, with the place
// underlined.
package excerpt

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Print writes line number n of text, and carets under width bytes from column
// col, which counts bytes from 1. A width of 0 underlines the word that begins
// there. It writes nothing where there is no such place, or the line is too
// long to be of use.
func Print(w io.Writer, text []byte, n, col, width int) {
	number := n
	for line := range bytes.Lines(text) {
		if n--; n == 0 {
			printLine(w, line, number, col, width)
			return
		}
	}
}

// Lines is a text cut into its lines, for many excerpts.
type Lines [][]byte

// LinesOf cuts a text.
func LinesOf(text []byte) Lines { return slices.Collect(bytes.Lines(text)) }

// Print is the function of that name, for one of the lines.
func (l Lines) Print(w io.Writer, n, col, width int) {
	if 1 <= n && n <= len(l) {
		printLine(w, l[n-1], n, col, width)
	}
}

func printLine(w io.Writer, text []byte, n, col, width int) {
	const longest = 200
	text = bytes.TrimRight(text, "\r\n")
	if len(text) > longest {
		return
	}
	line := strings.Map(plain, strings.ToValidUTF8(string(text), "\uFFFD"))
	if col < 1 || col > len(line)+1 {
		return
	}
	// Tabs are kept, so that the carets stand right at any tab width.
	indent := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, line[:col-1])
	underlined := line[col-1:]
	switch end := strings.IndexAny(underlined, " \t:,{}[]"); {
	case width > 0:
		underlined = underlined[:min(width, len(underlined))]
	case end > 0:
		underlined = underlined[:end]
	}
	carets := strings.Repeat("^", max(len([]rune(underlined)), 1))
	fmt.Fprintf(w, "%5d | %s\n      | %s%s\n", n, line, indent, carets)
}

// plain keeps a terminal from obeying what stands in a file.
func plain(r rune) rune {
	if r < ' ' && r != '\t' || r == '\x7F' {
		return ' '
	}
	return r
}
