package genapi

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

type line struct {
	Item  string
	Count int
}

type lineWithFields struct {
	Price float64
	Item  string
	Tags  []string
	Tax   *struct{ Rate float64 }
	At    time.Time
	Box   struct{ Width int }
	Count int
}

// Arguments are compared by parameter, and the fields that a type gains do not
// count while they are zero.
func TestOtherArguments(t *testing.T) {
	old := []line{{"pen", 3}}
	for _, tt := range []struct {
		name             string
		recorded, called Digest
		want             []string
	}{
		{"none", Arguments(), Arguments(), nil},
		{"the same", Arguments("n", 1, "lines", old), Arguments("n", 1, "lines", old), nil},
		{"another value", Arguments("n", 1, "lines", old), Arguments("n", 2, "lines", old), []string{"n"}},
		{"two", Arguments("a", 1, "b", "x"), Arguments("a", 2, "b", "y"), []string{"a", "b"}},
		{"further fields", Arguments("lines", old), Arguments("lines", []lineWithFields{{Item: "pen", Count: 3}}), nil},
		{
			"further fields that are set", Arguments("lines", old),
			Arguments("lines", []lineWithFields{{Item: "pen", Count: 3, Price: 1}}),
			[]string{"lines"},
		},
		{"a field becomes zero", Arguments("line", old[0]), Arguments("line", line{Item: "pen"}), []string{"line"}},
		{"elements are not fields", Arguments("list", []int{0, 1}), Arguments("list", []int{1}), []string{"list"}},
		{"large numbers", Arguments("n", []int64{1<<62 + 1}), Arguments("n", []int64{1 << 62}), []string{"n"}},
		{"zero", Arguments("n", 0), Arguments("n", 1), []string{"n"}},
		{"another order", Arguments("a", 1, "b", 2), Arguments("b", 2, "a", 1), nil},
		{"a further parameter", Arguments("n", 1), Arguments("n", 1, "currency", "EUR"), nil},
		{"one parameter less", Arguments("n", 1, "m", 2), Arguments("n", 1), nil},
		{"separators", Arguments("a/b:c", 1), Arguments("a/b:c", 2), []string{"a%2Fb%3Ac"}},
		{"an earlier version", Digest{text: "0a1b2c"}, Arguments("n", 1), nil},
	} {
		if got := record.OtherArguments(tt.recorded.text, tt.called.text); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, invalid := range []Digest{Arguments("n"), Arguments(1, 2), Arguments("f", func() {})} {
		if invalid.err == nil {
			t.Errorf("got the digest %q, want an error", invalid.text)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"a":[{"b":0}],"c":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		if d := Arguments("v", json.RawMessage(text)); d.err != nil {
			t.Errorf("%s: %v", text, d.err)
		}
	})
}
