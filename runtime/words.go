package retry

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText is the number of bytes that are read of an error's text. Longer texts
// usually contain a response or a document.
const maxText = 16 << 10

// readText records the facts that the words of a text prove. It is called only
// if the types of an error prove nothing.
//
// A word counts in upper or lower case, with no letter, digit or underscore next
// to it: "1500 rows" does not contain 500. A number alone proves nothing. It is a
// status after a label ("HTTP 503", "status code: 503", "error 503") or before
// its reason phrase ("503 Service Unavailable").
func (f *facts) readText(text string) {
	cut := len(text) > maxText
	text = text[:min(len(text), maxText)]
	var l label // the last one before the word
	for start, end := 0, 0; ; {
		if start, end = nextWord(text, end); start == end || cut && end == len(text) {
			return
		}
		var buf [len("unreachable")]byte // the longest word
		if end-start > len(buf) {
			continue
		}
		word := buf[:end-start]
		for i := range word {
			word[i] = text[start+i]
			if 'A' <= word[i] && word[i] <= 'Z' {
				word[i] += 'a' - 'A'
			}
		}
		rest := text[end:]
		switch string(word) {
		case "network", "connection", "refused", "unreachable":
			f.network = true
		case "timeout":
			f.timeout = true
		case "timed":
			f.timeout = f.timeout || follows(rest, " out")
		case "server":
			f.serverError = f.serverError || follows(rest, " error")
		case "rate":
			f.rateLimit = f.rateLimit || follows(rest, " limit")
		case "too":
			f.rateLimit = f.rateLimit || follows(rest, " many requests")
		case "429":
			f.rateLimit = f.rateLimit || l.of(text, start)
		case "500", "502", "503", "504":
			f.serverError = f.serverError || l.of(text, start) || followsReason(string(word), rest)
		case "status", "code", "statuscode", "status_code":
			l = label{end, " :=([\"'"}
		case "error":
			l = label{end, " "} // "error: 500 rows" counts rows
		case "http":
			l = label{end + len(version.FindString(rest)), " :=([\"'"}
		}
	}
}

// version matches the version of HTTP, after its name.
var version = regexp.MustCompile(`^/[0-9](\.[0-9])?`)

// A label is a word after which a number is a status.
type label struct {
	end        int    // offset of its end in the text; 0 if there was none
	separators string // the characters that may follow it
}

// of reports whether the label belongs to the number that begins at start.
func (l label) of(text string, start int) bool {
	return l.end > 0 && l.end < start && start-l.end <= 3 && strings.Trim(text[l.end:start], l.separators) == ""
}

// nextWord returns the bounds of the first word of text that begins at or after
// from. They are equal if there is none.
func nextWord(text string, from int) (start, end int) {
	start = from
	for start < len(text) && wordLength(text[start:]) == 0 {
		start++ // continuation bytes of a rune are skipped too
	}
	end = start
	for end < len(text) {
		n := wordLength(text[end:])
		if n == 0 {
			break
		}
		end += n
	}
	return start, end
}

// wordLength returns the length of the first rune of text if it is part of a
// word, and 0 otherwise.
func wordLength(text string) int {
	if text[0] < utf8.RuneSelf {
		if inWord[text[0]] {
			return 1
		}
		return 0
	}
	if r, n := utf8.DecodeRuneInString(text); unicode.IsLetter(r) || unicode.IsDigit(r) {
		return n
	}
	return 0
}

// inWord are the ASCII characters of words.
var inWord = func() (set [utf8.RuneSelf]bool) {
	for r := range set {
		set[r] = r == '_' || unicode.IsLetter(rune(r)) || unicode.IsDigit(rune(r))
	}
	return set
}()

// follows reports whether text begins with words and the last of them ends there.
// words must be in lower case; the case of text does not matter.
func follows(text, words string) bool {
	if len(text) < len(words) || !strings.EqualFold(text[:len(words)], words) {
		return false
	}
	return len(text) == len(words) || wordLength(text[len(words):]) == 0
}

// followsReason reports whether text begins with the reason phrase of a status,
// as servers spell it: "502 Bad Gateway".
func followsReason(status, text string) bool {
	switch status {
	case "500":
		return follows(text, " internal error") // the phrase itself ends in "server error"
	case "502":
		return follows(text, " bad gateway")
	case "503":
		return follows(text, " service unavailable") || follows(text, " service temporarily unavailable")
	}
	return follows(text, " gateway") // 504
}
