package syntax

import (
	"bytes"
	"regexp"
	"strconv"
	"unicode/utf8"
)

// blockHeader matches the rest of a line that begins a text after | or >.
var blockHeader = regexp.MustCompile(`[|>]([-+]?)([1-9]?)[-+]?[ \t]*(?:#.*)?$`)

// align returns where each byte of a scalar, and its end, is in the text src, in which
// the scalar is written at start: after | or >, in quotes, or plain. It returns false if
// it does not find them all.
func align(src []byte, start int, n *Node) (offsets []int, ok bool) {
	a := aligner{src: src, at: start}
	switch {
	case n.Form.Alias:
		return nil, false
	case n.Form.Block:
		if !a.openBlock() {
			return nil, false
		}
	case n.Form.Quoted:
		// A tag is before the quote.
		i := bytes.IndexAny(src[start:], `"'`)
		if i < 0 {
			return nil, false
		}
		a.quote = src[start+i]
		a.at = start + i + 1
	}
	text := n.Text
	offsets = make([]int, 0, len(text)+1)
	for len(text) > 0 {
		at, size, found := a.next(text)
		if !found {
			return nil, false
		}
		for range size {
			offsets = append(offsets, at)
		}
		text = text[size:]
	}
	return append(offsets, a.at), true
}

// An aligner walks through a scalar as it is written.
type aligner struct {
	src    []byte
	at     int
	quote  byte // ' or ", or 0
	indent int  // of the lines of a block
}

// openBlock moves to the first line of a block, and finds its indentation.
func (a *aligner) openBlock() bool {
	end := a.lineEnd()
	m := blockHeader.FindSubmatch(bytes.TrimRight(a.src[a.at:end], "\r"))
	if m == nil || end == len(a.src) {
		return false
	}
	a.at = end + 1
	first := a.at
	for first < len(a.src) { // the first line that is not blank
		line := a.src[first:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		if body := bytes.TrimLeft(line, " "); len(bytes.TrimSpace(body)) > 0 {
			a.indent = len(line) - len(body)
			break
		}
		first += len(line)
	}
	if explicit, err := strconv.Atoi(string(m[2])); err == nil && explicit > a.indent {
		return false
	} else if err == nil {
		return false // the indentation of the parent is not known here
	}
	a.skipIndent()
	return true
}

func (a *aligner) lineEnd() int {
	if i := bytes.IndexByte(a.src[a.at:], '\n'); i >= 0 {
		return a.at + i
	}
	return len(a.src)
}

// skipIndent skips the spaces that are no part of a scalar at the start of a line.
func (a *aligner) skipIndent() {
	for n := 0; a.at < len(a.src) && a.src[a.at] == ' ' && (a.indent == 0 || n < a.indent); n++ {
		a.at++
	}
}

// next returns where the first character of a text is written, and its size in the text.
func (a *aligner) next(text string) (at, size int, ok bool) {
	_, size = utf8.DecodeRuneInString(text)
	for a.at < len(a.src) {
		at = a.at
		c := a.src[at]
		switch {
		case a.quote == '"' && c == '\\':
			if width, is := escape(a.src[at:], text[:size]); is {
				a.at += width
				return at, size, true
			}
			if rest := bytes.TrimLeft(a.src[at+1:], " \t\r"); len(rest) > 0 && rest[0] == '\n' { // a joined line
				a.at = len(a.src) - len(rest) + 1
				a.skipIndent()
				continue
			}
			return 0, 0, false
		case a.quote == '\'' && c == '\'' && text[0] == '\'':
			a.at += 2
			return at, size, true
		case c == '\r':
			a.at++
		case c == '\n':
			a.at++
			a.skipIndent()
			if text[0] == '\n' || text[0] == ' ' {
				return at, size, true
			}
			// A line that is joined to the one before it, after a blank line.
		case bytes.HasPrefix(a.src[at:], []byte(text[:size])):
			a.at += size
			return at, size, true
		default:
			return 0, 0, false
		}
	}
	// The last newline may be missing.
	return len(a.src), size, text == "\n"
}

// escape reports whether src begins with an escape of JSON or YAML for a character, and
// how long the escape is.
func escape(src []byte, char string) (width int, is bool) {
	if len(src) < 2 {
		return 0, false
	}
	if digits, numeric := map[byte]int{'x': 2, 'u': 4, 'U': 8}[src[1]]; numeric {
		if len(src) < 2+digits {
			return 0, false
		}
		n, err := strconv.ParseUint(string(src[2:2+digits]), 16, 32)
		if high := rune(n); src[1] == 'u' && 0xd800 <= high && high < 0xdc00 && len(src) >= 12 {
			low, _ := strconv.ParseUint(string(src[8:12]), 16, 32)
			n, digits = uint64((high-0xd800)<<10|(rune(low)-0xdc00))+0x10000, 10
		}
		return 2 + digits, err == nil && string(rune(n)) == char
	}
	const names, means = `0abtnvfre"/\ N_LP`, "\x00\a\b\t\n\v\f\r\x1b\"/\\ \u0085\u00a0\u2028\u2029"
	i := bytes.IndexByte([]byte(names), src[1])
	return 2, i >= 0 && string([]rune(means)[i]) == char
}
