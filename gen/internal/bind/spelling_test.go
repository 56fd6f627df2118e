package bind

import (
	"go/types"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPieces: names of other packages are distinguished from fields and parameters that have
// the names of packages.
func TestPieces(t *testing.T) {
	api, other := types.NewPackage("example.com/v2/api", "api"), types.NewPackage("example.com/other", "api")
	packages := map[string]*types.Package{"p0": api, "p1": other}
	for _, test := range []struct {
		text string
		want Type
		base string
	}{
		{"int", Type{{Text: "int"}}, "int"},
		{"**p0.User", Type{{Text: "**"}, {"example.com/v2/api", "api", "User"}}, "User"},
		{"p1.T", Type{{"example.com/other", "api", "T"}}, "T"},
		{"[]*User", Type{{Text: "[]*User"}}, ""},
		{"map[p0.K][]p1.V", Type{{Text: "map["}, {"example.com/v2/api", "api", "K"}, {Text: "][]"},
			{"example.com/other", "api", "V"}}, ""},
		{"func(p0 p0.A, rest ...p1.B) (p1.C, error)", Type{{Text: "func(p0 "}, {"example.com/v2/api", "api", "A"},
			{Text: ", rest ..."}, {"example.com/other", "api", "B"}, {Text: ") ("}, {"example.com/other", "api", "C"},
			{Text: ", error)"}}, ""},
		{`struct{p0.E; X int "p1.y"}`, Type{{Text: "struct{"}, {"example.com/v2/api", "api", "E"},
			{Text: `; X int "p1.y"}`}}, ""},
		{"Pair[p0.A]", Type{{Text: "Pair["}, {"example.com/v2/api", "api", "A"}, {Text: "]"}}, ""},
	} {
		got := pieces(test.text, packages)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.text, diff)
		}
		if got := got.Base(); got != test.base {
			t.Errorf("%s: base %q, want %q", test.text, got, test.base)
		}
		if back, _ := got.Pointer().Elem(); !back.Equal(got) {
			t.Errorf("%s: the element of a pointer is %s", test.text, back)
		}
	}
}
