package record

import (
	"encoding/json"
	"math"
	"testing"
	"unicode/utf8"
)

// FuzzPlainText: what is written without encoding/json is the same.
func FuzzPlainText(f *testing.F) {
	for _, text := range []string{"", "o-17", `a"b`, `a\b`, "<a>&", "é", "\x7f", "\n", "\xff", "\u2028"} {
		f.Add(text, int64(len(text)))
	}
	f.Add("", int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, text string, n int64) {
		for _, value := range []any{text, n, int(n), n > 0} {
			want, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if got := appendPlain(nil, value); got != nil && string(got) != string(want) {
				t.Errorf("%#v is %s, want %s", value, got, want)
			}
		}
		if utf8.ValidString(text) && appendPlain(nil, n) == nil {
			t.Errorf("%d is not plain", n)
		}
	})
}
