package syntax

import (
	"encoding/json"
	"fmt"
	"strings"
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

// TestNginxMistakes: a text that nothing but nginx can have, and that nginx refuses, has one problem.
func TestNginxMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"http {\n a_next_upstream off;\n":        "1:1: the block of http is not closed",
		"a_next_upstream off":                    "1:1: a_next_upstream does not end with a semicolon",
		"http {\n a_next_upstream off }":         "2:2: a_next_upstream does not end with a semicolon",
		"a_next_upstream off; ; }":               "1:22: a directive is missing before ;",
		"a_next_upstream off;\nb \"c;":           "2:3: the quote is not closed",
		"a_next_upstream off;\nx_by_lua_block {": "2:1: the block of x_by_lua_block is not closed",
		"[section]\nkey = value\n":               "",
	} {
		got := ""
		for _, doc := range File([]byte(text)).Nginx() {
			for _, p := range doc.Problems {
				_, reason, _ := strings.Cut(p.Text, ": ")
				got += fmt.Sprintf("%d:%d: %s", p.Span.Line, p.Span.Col, reason)
			}
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
