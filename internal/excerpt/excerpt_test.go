package excerpt

import (
	"strings"
	"testing"
)

func TestPrint(t *testing.T) {
	text := []byte("one: two\r\n\tthree: [fünf]\n" + strings.Repeat("x", 300))
	tests := []struct {
		line, col, width int
		want             string
	}{
		{1, 6, 3, "    1 | one: two\n      |      ^^^\n"},
		{1, 1, 0, "    1 | one: two\n      | ^^^\n"},
		{1, 9, 1, "    1 | one: two\n      |         ^\n"},
		{2, 10, 5, "    2 | \tthree: [fünf]\n      | \t        ^^^^\n"},
		{1, 10, 1, ""},
		{3, 1, 1, ""},
		{4, 1, 1, ""},
		{0, 0, 0, ""},
	}
	for _, tt := range tests {
		var b strings.Builder
		Print(&b, text, tt.line, tt.col, tt.width)
		if got := b.String(); got != tt.want {
			t.Errorf("line %d, column %d, width %d:\n%swant\n%s", tt.line, tt.col, tt.width, got, tt.want)
		}
	}
}
