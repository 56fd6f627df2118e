package syntax

import (
	"bytes"
	"strings"
	"testing"
)

// TestEmbedded: each key and each value of a text in a document has the position of its
// first letter in the file, whatever the form in which the text is written.
func TestEmbedded(t *testing.T) {
	for name, file := range map[string]string{
		"literal":        "data:\n  file: |\n    alpha: one\n    beta:\n      gamma: two\n",
		"kept newlines":  "data:\n  file: |+\n    alpha: one\n\n    beta: two\n\n",
		"no newline":     "data: {x: y}\nfile: |-\n  alpha: one\n  beta: two",
		"tag":            "file: !Sub |\n  alpha: one\n  beta: ${two}\n",
		"comment":        "file: | # a comment\n  # another\n  alpha: one\n  beta: two\n",
		"blank start":    "file: |\n\n  alpha: one\n",
		"windows":        "data:\r\n  file: |\r\n    alpha: one\r\n    beta: two\r\n",
		"folded":         "file: >\n  {alpha: one,\n  beta: two,\n\n  gamma: three}\n",
		"plain":          "file: alpha\nother: {file: beta}\n",
		"single quotes":  "file: '{alpha: ''one'', beta: two}'\n",
		"quoted lines":   "file: '{alpha: one,\n   beta: two,\n\n   gamma: three}'\n",
		"double quotes":  `{"file": "alpha: \"one\"\nbeta: {\"gamma\": \"two\"}\n"}`,
		"escapes":        `{"file": "{\"\u00e9\ud83d\ude00\": 1, \"alpha\": \"\\u0041 one\", \"beta\": \"a\/b\"}"}`,
		"joined escapes": "file: \"{alpha: one, \\\n   beta: two}\"\n",
		"wide":           "file: |\n  é: {日本: alpha, beta: one}\n",
		"second":         "a: 1\n---\n# text\nfile: |\n  alpha: one\n---\nb: 2\n",
		"twice":          "file: |\n  file: |\n    alpha: one\n    beta:\n      - gamma\n",
		"twice quoted":   "file: \"file: |\\n  alpha: one\\n  beta: two\\n\"\n",
		"text in text":   `{"file": "{\"file\": \"{\\\"alpha\\\": \\\"one\\\"}\"}"}`,
		"template":       "file: |\n  alpha: {{ .Values.x }}\n  beta: one\n",
	} {
		t.Run(name, func(t *testing.T) {
			lines := bytes.Split([]byte(file), []byte("\n"))
			found := 0
			var read func(e *Excerpt, depth int)
			check := func(word string, at Span) {
				if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" || word == "" {
					return
				}
				found++
				rest := strings.TrimLeft(string(lines[at.Line-1][at.Col-1:]), `"'\`)
				if !strings.HasPrefix(rest, word) {
					t.Errorf("%s is at %v, where the file has %q", word, at, rest)
				}
			}
			read = func(e *Excerpt, depth int) {
				for _, doc := range e.Documents() {
					for _, p := range doc.Problems {
						t.Fatalf("%v: %s", p.Span, p.Text)
					}
					var inner []*Excerpt
					each(doc.Root, func(key string, n *Node) {
						if key == "file" && strings.Contains(n.Text, ":") {
							inner = append(inner, doc.Embedded(n))
						}
					})
					doc.Place()
					if depth > 0 {
						walk(doc.Root, check)
					}
					for _, e := range inner {
						read(e, depth+1)
					}
				}
			}
			read(File([]byte(file)), 0)
			if found == 0 && name != "plain" {
				t.Error("nothing was read")
			}
		})
	}
}

// TestEmbeddedWithoutPlace: a text whose parts cannot be located has the position of its
// start.
func TestEmbeddedWithoutPlace(t *testing.T) {
	docs := File([]byte("a: &x |\n  alpha: 1\nb: *x\n")).Documents()
	e := docs[0].Embedded(docs[0].Root.Get("b").Value)
	inner := e.Documents()
	inner[0].Place()
	if at := inner[0].Root.Get("alpha").At; at.Line != 1 || at.Col != 4 {
		t.Errorf("alpha is at %v", at)
	}
}

// each calls f for the entries of a node and of the maps in it.
func each(n *Node, f func(key string, n *Node)) {
	for _, e := range n.Entries {
		f(e.Key, e.Value)
		each(e.Value, f)
	}
	for _, item := range n.Items {
		each(item, f)
	}
}

// walk calls f for the keys and scalars of a node.
func walk(n *Node, f func(text string, at Span)) {
	for _, e := range n.Entries {
		f(e.Key, e.At)
		walk(e.Value, f)
	}
	for _, item := range n.Items {
		walk(item, f)
	}
	if !n.IsMap() && !n.IsList() && !n.Form.Block {
		f(n.Text, n.Span)
	}
}

// FuzzExcerpt: no text causes a panic, and all positions are in the text.
func FuzzExcerpt(f *testing.F) {
	for _, text := range []string{
		"file: |\n  a: 1\n", `{"file": "a: \"b\"\n"}`, "file: >-\n  a: b\n\n  c: d", "file: 'it''s: a'\n",
		"a: {{ .Values.x }}\n{{- if x }}\nb: 1\n{{ end }}", "a.b[0].c=1\n# x\na.b[1]=2", "{\"a\": 1, // x\n}",
		"x = jsonencode({a = [1, \"b\", f(c)] })",
		"x = <<-EOF\n{\"a\": 1}\nEOF\n", "%YAML 1.2\n---\na: 1",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := bytes.Split(text, []byte("\n"))
		check := func(what string, at Span) {
			if at.Line < 1 || at.Line > len(lines) || at.Col < 1 || at.Col > len(lines[at.Line-1])+1 {
				t.Errorf("%q is at %v, which is not in the text", what, at)
			}
		}
		var read func(docs []Document, depth int)
		read = func(docs []Document, depth int) {
			for _, doc := range docs {
				var inner []*Excerpt
				if doc.Root != nil && depth < 3 {
					each(doc.Root, func(_ string, n *Node) {
						if _, isText := n.Value.(string); isText {
							inner = append(inner, doc.Embedded(n))
						}
					})
				}
				doc.Place()
				for _, p := range doc.Problems {
					check(p.Text, p.Span)
				}
				if doc.Root != nil {
					walk(doc.Root, check)
				}
				for _, e := range inner {
					read(e.Documents(), depth+1)
				}
			}
		}
		read(File(text).Documents(), 0)
		read(File(text).Properties(), 0)
		read(File(text).Terraform(), 0)
	})
}
