package term

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"Charge/o1":              "Charge/o1",
		"größe 日本 é \\x":         "größe 日本 é \\x",
		"\x1b[2J":                `\x1b[2J`,
		"a\nb\tc\r":              `a\nb\tc\r`,
		"\u009b31m":              `\u009b31m`,
		"\u202egpj.exe\u2066":    `\u202egpj.exe\u2066`,
		"\xff\xfe":               `\xff\xfe`,
		"\u200b\ufeff\U000e0001": `\u200b\ufeff\U000e0001`,
		"\uFFFD":                 "\uFFFD",
	} {
		if got := Clean(text); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}

// FuzzClean: no control character is left, in texts and in JSON, and JSON keeps its
// value.
func FuzzClean(f *testing.F) {
	f.Add("\x1b]0;t\x07\u009b\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		encoded, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		escaped := JSON(encoded)
		for _, out := range []string{Clean(text), string(escaped)} {
			isControl := func(r rune) bool { return unicode.In(r, unicode.C) }
			if i := strings.IndexFunc(out, isControl); i >= 0 || !utf8.ValidString(out) {
				t.Errorf("%q of %q has a control character", out, text)
			}
		}
		var before, after string
		if json.Unmarshal(encoded, &before) != nil || json.Unmarshal(escaped, &after) != nil || before != after {
			t.Errorf("JSON(%s) = %s has another value", encoded, escaped)
		}
	})
}

// TestTable: columns are aligned by what they take on a terminal, and only the last
// one is cut.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	table := NewTable(&out, false, "ID", "ERROR")
	table.width = 26
	for _, row := range [][2]string{{"日本", "short"}, {"a-very-long-id", "one two three four five six"}, {"x", ""}} {
		if err := table.Row(Text(row[0]), Cell{row[1], Red}); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "ID              ERROR\n日本            short\na-very-long-id  one two three four …\nx               -\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := Paint("x", Red, true); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("got %q", got)
	}
	if got := Cut("日本語", 5); got != "日本…" {
		t.Errorf("got %q", got)
	}
}
