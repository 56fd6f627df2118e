package diagnostic

import (
	"strings"
	"testing"

	"github.com/retrygen/retrygen/policy/rules"
)

func TestPrintLine(t *testing.T) {
	text := "one: two\r\n\tthree: [fünf]\n" + strings.Repeat("x", 300)
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
		p := Printer{W: &b, Source: func(string) []byte { return []byte(text) }}
		p.Print(Diagnostic{File: "f", Line: tt.line, Col: tt.col, Width: tt.width})
		if _, got, _ := strings.Cut(b.String(), "\n"); got != tt.want {
			t.Errorf("line %d, column %d, width %d:\n%swant\n%s", tt.line, tt.col, tt.width, got, tt.want)
		}
	}
}

func TestPrint(t *testing.T) {
	d := Diagnostic{
		File: "retry.yaml", Line: 2, Col: 3, Severity: rules.Warning,
		Text: "write this", Rule: "P999", Fixable: true, Paste: "one: 1\ntwo: 2\n",
	}
	for _, tt := range []struct {
		color bool
		want  string
	}{
		{false, "retry.yaml:2:3: warning: write this [P999] [fixable]\n" +
			"    2 |   key: value\n      |   ^^^\n      one: 1\n      two: 2\n"},
		{true, "\x1b[1mretry.yaml:2:3:\x1b[0m \x1b[1;33mwarning:\x1b[0m write this \x1b[36m[P999]\x1b[0m " +
			"\x1b[32m[fixable]\x1b[0m\n" +
			"    2 |   key: value\n      |   \x1b[1;33m^^^\x1b[0m\n      one: 1\n      two: 2\n"},
	} {
		var b strings.Builder
		p := Printer{W: &b, Color: tt.color, Source: func(file string) []byte {
			return []byte("name: " + file + "\n  key: value\n")
		}}
		p.Print(d)
		if got := b.String(); got != tt.want {
			t.Errorf("color %t: got\n%q, want\n%q", tt.color, got, tt.want)
		}
	}
}

func TestString(t *testing.T) {
	for want, d := range map[string]Diagnostic{
		"a.go:1:2: error: x [RL101]": {File: "a.go", Line: 1, Col: 2, Severity: rules.Error, Text: "x", Rule: "RL101"},
		"gram.y:15: info: x [P303]":  {File: "gram.y", Line: 15, Text: "x", Rule: "P303"}, // after a line comment
	} {
		if got := d.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	all := []Diagnostic{
		{Severity: rules.Error}, {Severity: rules.Error, Fixable: true}, {Severity: rules.Error},
		{Severity: rules.Warning, Fixable: true}, {Severity: rules.Info},
	}
	for _, tt := range []struct {
		list []Diagnostic
		want string
	}{
		{nil, ""},
		{all[:1], "1 error"},
		{all[2:4], "1 error, 1 warning; 1 fixable with retrylint -fix"},
		{all, "3 errors, 1 warning, 1 info; 2 fixable with retrylint -fix"},
	} {
		if got := Summary(tt.list); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
