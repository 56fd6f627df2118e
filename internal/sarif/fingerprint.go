package sarif

import (
	"bytes"
	"crypto/sha256"
	"fmt"
)

// fingerprintName names the algorithm of fingerprints. A change of the algorithm
// needs another name, since consumers match results by name and fingerprint.
const fingerprintName = "retrygenLine/v1"

// fingerprints computes the fingerprints by which consumers recognize a finding in
// a later run. A fingerprint is a hash of the rule, the file and the words of the
// line. The line number, the indentation and the message are not part of it. A
// counter distinguishes findings with the same hash.
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
