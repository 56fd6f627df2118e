// Package spelling finds the word that is most similar to a misspelled one.
package spelling

import "strings"

// Nearest returns the candidate with the fewest differences from word, or "" if
// none is similar. At most two letters may differ, or a third of a long word, but
// never more than half. Upper case and - for _ are not differences.
func Nearest(word string, candidates []string) string {
	word = fold(word)
	best, least := "", min(max(2, len(word)/3), len(word)/2)+1
	for _, c := range candidates {
		if d := distance(word, fold(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

func fold(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "_")) }

// distance returns how many letters must be inserted, deleted, replaced or swapped
// with their neighbor to turn a into b (optimal string alignment).
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			replace := row[j]
			if a[i] != b[j] {
				replace++
			}
			next[j+1] = min(row[j+1]+1, next[j]+1, replace)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
