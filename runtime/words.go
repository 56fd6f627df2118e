package retry

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText is the number of bytes that are read of an error's text. Longer texts
// usually contain a response or a document.
const maxText = 16 << 10

// readText records the facts that a text proves: a status, or the words of classes
// if match allows them and there is no status. It is called only if the types of an
// error prove nothing.
//
// A word counts in upper or lower case, with no letter, digit or underscore next
// to it: "1500 rows" does not contain 500. A number alone proves nothing. It is a
// status after a label ("HTTP 503", "status code: 503", "error 503") or before
// its reason phrase ("503 Service Unavailable"). The first status counts, but in
// "expected status 200, got 503" what follows got does. A code without the word
// status, HTTP or response before it may be that of a database: "code: 503" is a
// denied access of ClickHouse.
func (f *facts) readText(text string, match MatchText) {
	cut := len(text) > maxText
	text = text[:min(len(text), maxText)]
	var network, timeout, serverError, rateLimit bool
	var l label      // the last one before the word
	var expects bool // the text names an expected status before the actual one
	var expected int // the first one, if the text expects one
	for start, end := 0, 0; ; {
		if start, end = nextWord(text, end); start == end || cut && end == len(text) {
			break
		}
		var buf [len("unreachable")]byte // the longest word
		if end-start > len(buf) {
			continue
		}
		word := buf[:end-start]
		lower(word, text[start:end])
		rest := text[end:]
		switch string(word) {
		case "network", "connection", "refused", "unreachable":
			network = true
		case "timeout":
			timeout = true
		case "timed":
			timeout = timeout || follows(rest, " out")
		case "server":
			serverError = serverError || follows(rest, " error")
		case "rate":
			rateLimit = rateLimit || follows(rest, " limit")
		case "too":
			rateLimit = rateLimit || follows(rest, " many requests")
		case "status", "statuscode", "status_code":
			l = label{end: end, code: true, number: true}
		case "response":
			l = label{end: end, code: true}
		case "code":
			if l.code && l.precedes(text, start) {
				l = label{end: end, number: true}
			}
		case "error":
			l = label{end: end, number: true, alone: true}
		case "http":
			l = label{end: end + versionLength(rest), code: true, number: true}
		case "expected", "want", "wanted":
			expects = true
		case "got":
			if expects {
				l, expects = label{end: end, number: true}, false
			}
		default:
			i := statusIndex(word)
			if i < 0 || isPart(rest) || !l.of(text, start, end) && !followsReason(i, rest) {
				continue
			}
			if expects {
				expected = cmp.Or(expected, statusWords[i].status)
				continue
			}
			f.status, f.typed = statusWords[i].status, true
			return
		}
	}
	if expected != 0 {
		f.status, f.typed = expected, true
	} else if match == MatchWords {
		f.network, f.timeout, f.serverError = network, timeout, serverError
		f.rateLimit = f.rateLimit || rateLimit // the error of a call inside may have asked for a wait
	}
}

// lower copies a text of the same length to word, with ASCII letters in lower case.
func lower(word []byte, text string) {
	for i := range word {
		word[i] = text[i]
		if 'A' <= word[i] && word[i] <= 'Z' {
			word[i] += 'a' - 'A'
		}
	}
}

// statusWords lists the statuses that a text may have, and what follows them as
// servers spell it: "502 Bad Gateway".
var statusWords = [...]struct {
	word    string
	status  int
	reasons []string
}{
	{"400", 400, []string{" bad request"}},
	{"401", 401, []string{" unauthorized"}},
	{"403", 403, []string{" forbidden"}},
	{"404", 404, []string{" not found"}},
	{"409", 409, []string{" conflict"}},
	{"410", 410, []string{" gone"}},
	{"422", 422, []string{" unprocessable entity", " unprocessable content"}},
	{"429", 429, []string{" too many requests"}},
	{"500", 500, []string{" internal server error", " internal error"}},
	{"502", 502, []string{" bad gateway"}},
	{"503", 503, []string{" service unavailable", " service temporarily unavailable"}},
	{"504", 504, []string{" gateway"}},
}

// isPart reports whether a number continues in text: "500,000" or "500.5".
func isPart(text string) bool {
	return len(text) > 1 && (text[0] == ',' || text[0] == '.') && '0' <= text[1] && text[1] <= '9'
}

// statusIndex returns the index of a word in statusWords, or -1.
func statusIndex(word []byte) int {
	if len(word) != 3 || word[0] != '4' && word[0] != '5' {
		return -1
	}
	for i := range statusWords {
		if string(word) == statusWords[i].word {
			return i
		}
	}
	return -1
}

// followsReason reports whether text begins with a reason phrase of a status.
func followsReason(i int, text string) bool {
	for _, reason := range statusWords[i].reasons {
		if follows(text, reason) {
			return true
		}
	}
	return false
}

// versionLength returns the length of the version of HTTP with which text begins,
// after its name: that of "/2" or "/1.1".
func versionLength(text string) int {
	digit := func(i int) bool { return i < len(text) && '0' <= text[i] && text[i] <= '9' }
	switch {
	case text == "" || text[0] != '/' || !digit(1):
		return 0
	case len(text) > 2 && text[2] == '.' && digit(3):
		return len("/1.1")
	}
	return len("/2")
}

// A label is a word after which a number may be a status.
type label struct {
	end    int  // offset of its end in the text; 0 if there was none
	code   bool // the word code may follow it, as another label
	number bool // a number may follow it
	alone  bool // after a colon, the number must be all that follows: "error: 500 rows" counts rows
}

// precedes reports whether only punctuation is between the label and start.
func (l label) precedes(text string, start int) bool {
	return l.end > 0 && l.end < start && start-l.end <= len(`": "`) && strings.Trim(text[l.end:start], " :=-([\"'") == ""
}

// of reports whether the label makes a status of the number in text[start:end].
func (l label) of(text string, start, end int) bool {
	switch {
	case !l.number || !l.precedes(text, start):
		return false
	case l.alone && text[l.end:start] != " ":
		return text[l.end:start] == ": " && (end == len(text) || strings.IndexByte(",;:)", text[end]) >= 0)
	}
	return true
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
