package bind

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// durableTypes declares what TestDurableTypes judges.
const durableTypes = `package p

import (
	"context"
	"io"
	"math/big"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"
)

type (
	Name    string
	Level   int8
	On      bool
	Secret  string // its String method hides it
	Masked  struct{ a int }
	Point   struct{ X, Y int }
	Hidden  struct{ Name string; next int }
	Tagged  struct{ A int; Cache func() ` + "`json:\"-\"`" + `; _ [0]func() }
	Outer   struct{ In struct{ Body io.Reader } }
	List    struct{ Next *List; Items []Point }
	Stamped struct{ time.Time; Note string }
	Only    struct{ time.Time }
	base    struct{ ID string }
	Value   struct{ base; N int }
	Pointer struct{ *base; N int }
	Locked  struct{ sync.Mutex; N int }
	Word    struct{ w string }
	Write   struct{ w string }
	Ref     struct{ w string }
	Text    interface{ MarshalText() ([]byte, error) }
	Ordered interface{ ~string | ~int }
	Mixed   interface{ ~string | ~float64 }
)

func (Secret) String() string                { return "***" }
func (Masked) String() string                { return "***" }
func (Word) MarshalText() ([]byte, error)    { return nil, nil }
func (*Word) UnmarshalText([]byte) error     { return nil }
func (Write) MarshalJSON() ([]byte, error)   { return nil, nil }
func (*Ref) MarshalText() ([]byte, error)    { return nil, nil }
func (*Ref) UnmarshalText([]byte) error      { return nil }

var _ = []any{context.Context(nil), big.Int{}, http.Request{}, netip.Addr{}, os.File{}}
`

// TestDurableTypes: what can be a part of an id, what can be digested and what
// can be recorded.
func TestDurableTypes(t *testing.T) {
	const use = ": use a string, an integer, a boolean or an encoding.TextMarshaler"
	tests := []struct {
		typ        string
		id         string // why not
		digestible bool
		record     string // why not
	}{
		{"string", "", true, ""},
		{"Name", "", true, ""},
		{"Secret", "", true, ""},
		{"Level", "", true, ""},
		{"On", "", true, ""},
		{"uint64", "", true, ""},
		{"time.Duration", "", true, ""},
		{"time.Time", "", true, ""},
		{"*time.Time", "", true, ""},
		{"netip.Addr", "", true, ""},
		{"*big.Int", "", true, ""},
		{
			"big.Int", "is of type big.Int, whose method MarshalText has a pointer receiver: use a value receiver",
			false, "has the unexported field neg and no MarshalJSON",
		},
		{"Word", "", true, ""},
		{"Write", "is of type p.Write" + use, true, "has MarshalJSON and no UnmarshalJSON"},
		{
			"Ref", "is of type p.Ref, whose method MarshalText has a pointer receiver: use a value receiver",
			false, "has the unexported field w and no MarshalJSON",
		},
		{"*Ref", "", true, ""},
		{"[]Ref", "is of type []p.Ref" + use, true, ""},
		{"map[string]Ref", "is of type map[string]p.Ref" + use, false, "has the unexported field w and no MarshalJSON"},
		{"Text", "", true, "is an interface"},
		{
			"Masked", "is of type p.Masked, whose String method may hide a part of it: give it the method MarshalText",
			false, "has the unexported field a and no MarshalJSON",
		},
		{"float64", "is of type float64" + use, true, ""},
		{"complex128", "is of type complex128" + use, false, "is complex128"},
		{"[]byte", "is of type []byte" + use, true, ""},
		{"*string", "is of type *string" + use, true, ""},
		{"Point", "is of type p.Point" + use, true, ""},
		{"*List", "is of type *p.List" + use, true, ""},
		{"struct{}", "is of type struct{}" + use, true, ""},
		{"[2]Point", "is of type [2]p.Point" + use, true, ""},
		{"map[Level]Point", "is of type map[p.Level]p.Point" + use, true, ""},
		{"map[Point]string", "is of type map[p.Point]string" + use, false, "has keys of type p.Point"},
		{"map[Word]string", "is of type map[p.Word]string" + use, true, ""},
		{"Hidden", "is of type p.Hidden" + use, false, "has the unexported field next and no MarshalJSON"},
		{"[]Hidden", "is of type []p.Hidden" + use, false, "has the unexported field next and no MarshalJSON"},
		{"Tagged", "is of type p.Tagged" + use, true, ""},
		{"Outer", "is of type p.Outer" + use, false, "has the field In.Body, which is an interface"},
		{
			"Stamped", "is of type p.Stamped, whose String method may hide a part of it: give it the method MarshalText",
			false, "has MarshalJSON from an embedded field, which leaves out the other fields",
		},
		{"Only", "", true, ""},
		{"Value", "is of type p.Value" + use, true, ""},
		{"Pointer", "is of type p.Pointer" + use, true, "has the unexported field base and no MarshalJSON"},
		{"Locked", "is of type p.Locked" + use, false, "has the field Mutex with the unexported field mu and no MarshalJSON"},
		{"func()", "is of type func()" + use, false, "is a function"},
		{"chan int", "is of type chan int" + use, false, "is a channel"},
		{"any", "is of type any" + use, false, "is an interface"},
		{"error", "is of type error" + use, false, "is an interface"},
		{"io.Reader", "is of type io.Reader" + use, false, "is an interface"},
		{"*os.File", "is of type *os.File" + use, false, "has the unexported field file and no MarshalJSON"},
		{"*http.Response", "is of type *http.Response" + use, false, "has the field Body, which is an interface"},
		{"A", "is of type A" + use, false, ""},
		{"B", "", true, ""},
		{"C", "is of type C" + use, true, ""},
		{"D", "", true, ""},
	}
	var source strings.Builder
	source.WriteString(durableTypes)
	var symbols []string
	for i, test := range tests {
		symbols = append(symbols, fmt.Sprintf("F%d", i))
		fmt.Fprintf(&source, "func F%d[A any, B Ordered, C Mixed, D Text](x %s) {}\n", i, test.typ)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.26\n", "p.go": source.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	program, err := Load(t.Context(), dir, "", []string{dir}, func(string, []byte) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	pkg, errs := program.In(dir)
	if pkg == nil || len(pkg.errors) > 0 {
		t.Fatal(errs, pkg.errors)
	}
	for i, test := range tests {
		target, err := pkg.Lookup(symbols[i])
		if err != nil {
			t.Fatal(err)
		}
		p := target.Func.Params[0]
		if got := p.NoID(); got != test.id {
			t.Errorf("%s as an id: got %q, want %q", test.typ, got, test.id)
		}
		if got := p.Digestible(); got != test.digestible {
			t.Errorf("%s: digestible %v, want %v", test.typ, got, test.digestible)
		}
		if got := p.NoRecord(); got != test.record {
			t.Errorf("%s as a result: got %q, want %q", test.typ, got, test.record)
		}
	}
}
