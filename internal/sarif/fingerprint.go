package sarif

import (
	"bytes"
	"crypto/sha256"
	"fmt"
)

// fingerprintName names how fingerprints are made. Another way of making them
// needs another name: results are matched by both.
const fingerprintName = "retrygenLine/v1"

// fingerprints makes what a finding is known by from one run to the next: its
// rule, its file and the words of its line, but neither the line's number nor
// its indentation, and not the message, which may name other lines. Findings
// that are alike in all that are counted.
type fingerprints map[string]int

func (p fingerprints) of(rule, uri string, line []byte) string {
	words := bytes.Join(bytes.Fields(line), []byte(" "))
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", rule, uri, words))
	print := fmt.Sprintf("%x", sum[:16])
	p[print]++
	return fmt.Sprintf("%s:%d", print, p[print])
}

// lineOf returns line n of text without its end, or nil.
func lineOf(text []byte, n int) []byte {
	for line := range bytes.Lines(text) {
		if n--; n == 0 {
			return bytes.TrimRight(line, "\r\n")
		}
	}
	return nil
}
