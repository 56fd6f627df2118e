package diagnostic

import (
	"bytes"
	"fmt"
	"strings"
)

// printLine prints line n of a file, which is text, and carets under width bytes
// from column col. Columns count bytes from 1. A width of 0 underlines the word
// that begins there. It prints nothing if the line has no such column or is longer
// than 200 bytes.
func (p *Printer) printLine(text []byte, n, col, width int, paint string) {
	const maxLength = 200
	text = bytes.TrimRight(text, "\r\n")
	if len(text) > maxLength {
		return
	}
	line := strings.Map(plain, strings.ToValidUTF8(string(text), "\uFFFD"))
	if col < 1 || col > len(line)+1 {
		return
	}
	// Tabs are kept, so that the carets are aligned at any tab width.
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
	fmt.Fprintf(p.W, "%5d | %s\n      | %s%s\n", n, line, indent, p.painted(paint, carets))
}

// plain replaces control characters, which a terminal would interpret.
func plain(r rune) rune {
	if r < ' ' && r != '\t' || r == '\x7F' {
		return ' '
	}
	return r
}
