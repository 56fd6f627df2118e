package syntax

import "testing"

func TestProperties(t *testing.T) {
	const text = "# comment\na.b = 1\n! comment\na.c: x=y\nlist[0].d=1\nlist[1].d=2\nalone\na.b=3\n"
	root := File([]byte(text)).Properties()[0].Root
	a, list := root.Child("a"), root.Child("list")
	for want, n := range map[string]*Node{"3": a.Child("b"), "x=y": a.Child("c"), "2": list.Items[1].Child("d")} {
		if n == nil || n.Text != want {
			t.Errorf("got %+v, want %s", n, want)
		}
	}
	b := a.Get("b")
	if key, value := (Span{8, 1, 3}), (Span{8, 5, 1}); b.At != key || b.Value.Span != value {
		t.Errorf("a.b is at %v and %v, want %v and %v", b.At, b.Value.Span, key, value)
	}
}

// TestPropertiesLines: a value ends before the spaces at the end of its line, and a line that
// ends with a backslash continues on the next one, which begins no key.
func TestPropertiesLines(t *testing.T) {
	const text = "a.b=3 \t\r\na.c=one, \\\r\n  a.b=two\na.d=C:\\\\\na.e=5\n"
	a := File([]byte(text)).Properties()[0].Root.Child("a")
	for key, want := range map[string]string{"b": "3", "c": "one, a.b=two", "d": `C:\\`, "e": "5"} {
		if n := a.Child(key); n == nil || n.Text != want {
			t.Errorf("got %+v for %s, want %s", n, key, want)
		}
	}
}
