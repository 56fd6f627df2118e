package syntax

import (
	"encoding/json"
	"testing"
)

func TestNginx(t *testing.T) {
	for text, want := range map[string]string{
		"worker_processes auto; # all\n":                `{"worker_processes":["auto"]}`,
		`http { server { listen 80; } server { } }`:     `{"http":[{"":"","server":[{"":"","listen":["80"]},{"":""}]}]}`,
		`location ~ "^/a{2};" { return 200 'a b'; }`:    `{"location":[{"":"~ ^/a{2};","return":["200 a b"]}]}`,
		"a ${b}c $d{ e; }":                              `{"a":[{"":"${b}c $d","e":[""]}]}`,
		`a b\;c "d\"e";`:                                `{"a":["b\\;c d\"e"]}`,
		"access_by_lua_block { if x then y = {1} end }": `{"access_by_lua_block":[{"":""}]}`,
		"a b": ``, "a { b; ": ``, "a; }": ``, "{ a; }": ``, "a { b }": ``, `a "b;`: ``, "": ``, "[section]\nkey = value\n": ``,
	} {
		got := ""
		for _, doc := range File([]byte(text)).Nginx() {
			b, err := json.Marshal(plain(doc.Root))
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		if got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", text, got, want)
		}
	}
	doc := File([]byte("http {\n  retries error timeout; retries off;\n}")).Nginx()[0]
	list := doc.Root.Child("http").Items[0].Child("retries")
	if got, want := list.Items[0].Span, (Span{2, 11, 13}); got != want {
		t.Errorf("the arguments are at %v, want %v", got, want)
	}
	if got, want := list.Items[1].Span, (Span{2, 34, 3}); got != want {
		t.Errorf("the second ones are at %v, want %v", got, want)
	}
}

// plain returns the values of a node.
func plain(n *Node) any {
	switch {
	case n.IsMap():
		m := map[string]any{}
		for _, e := range n.Entries {
			m[e.Key] = plain(e.Value)
		}
		return m
	case n.IsList():
		list := []any{}
		for _, item := range n.Items {
			list = append(list, plain(item))
		}
		return list
	}
	return n.Value
}
