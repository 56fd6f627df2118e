// Package term writes texts and tables for people: nothing that a store contains
// reaches a terminal as a control sequence.
package term

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Clean returns a text on one line in which each character that a terminal would
// execute, or would not show, is replaced by its escape sequence in Go: control
// characters, line ends, marks that change the direction of text, bytes that are no
// UTF-8. Other texts are returned unchanged.
func Clean(s string) string {
	clean := true
	for i, r := range s {
		if !plain(r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if plain(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(s[:size])
		} else {
			quoted := strconv.Quote(s[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}

// plain reports whether a terminal shows r and does nothing else.
func plain(r rune) bool { return strconv.IsPrint(r) && !unicode.Is(unicode.Cf, r) }

// Width returns the number of columns that a clean text takes on a terminal.
func Width(s string) (columns int) {
	for _, r := range s {
		columns += runeWidth(r)
	}
	return columns
}

func runeWidth(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		return 1
	case unicode.Is(unicode.M, r):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut returns a clean text in at most some columns, with … in place of the rest.
func Cut(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	taken := 1 // …
	for i, r := range s {
		if taken += runeWidth(r); taken > columns {
			return s[:i] + "…"
		}
	}
	return s
}

// JSON returns JSON in which the characters that a terminal would execute, or would
// not show, are escaped: they occur in strings only. Line ends between values stay.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r < utf8.RuneSelf && r != 0x7f || plain(r) {
			out = append(out, text[:size]...)
		} else {
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
		text = text[size:]
	}
	return out
}
