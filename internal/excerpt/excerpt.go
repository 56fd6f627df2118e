// Package excerpt prints the line that a message is about, with the place
// underlined.
package excerpt

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Print writes line number n of text, and carets under width bytes from column
// col, which counts bytes from 1. A width of 0 underlines the word that begins
// there. It writes nothing where there is no such place, or the line is too
// long to be of use.
func Print(w io.Writer, text []byte, n, col, width int) {
	line, ok := lineOf(text, n)
	if !ok || col < 1 || col > len(line)+1 {
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

func lineOf(text []byte, n int) (string, bool) {
	const longest = 200
	for line := range bytes.Lines(text) {
		if n--; n == 0 {
			line = bytes.TrimRight(line, "\r\n")
			return strings.ToValidUTF8(string(line), "\uFFFD"), len(line) <= longest
		}
	}
	return "", false
}
