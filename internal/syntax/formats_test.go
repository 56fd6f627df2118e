package syntax

import (
	"strings"
	"testing"
	"time"
)

// formats read texts that are no YAML.
var formats = map[string]func(*Excerpt) []Document{
	"properties": (*Excerpt).Properties, "Terraform": (*Excerpt).Terraform, "nginx": (*Excerpt).Nginx,
	"HAProxy": (*Excerpt).HAProxy,
}

// FuzzFormats checks that no text causes a panic, and that positions are within the text.
func FuzzFormats(f *testing.F) {
	for _, text := range []string{
		"a.b[0].c=1\na : 2\n", "resource \"a\" \"b\" {\n  c = jsonencode({d = 1})\n  e { f = <<X\n{}\nX\n  }\n}\n",
		"http { server { location ~ \"^/a\" { b 'c' ${d}; } } } # e\n",
		"defaults\n  mode http\nbackend a from b\n  c \"d\" \\e # f\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := strings.Split(string(text), "\n")
		for name, read := range formats {
			for _, doc := range read(File(text)) {
				doc.Place()
				positions(doc.Root, func(at Span) {
					if at.Line < 1 || at.Line > len(lines) || at.Col < 1 || at.Col > len(lines[at.Line-1])+1 || at.Width < 1 {
						t.Errorf("%s: %v is not in the text", name, at)
					}
				})
			}
		}
	})
}

// positions calls f with the position of each key and value.
func positions(n *Node, f func(Span)) {
	f(n.Span)
	for _, e := range n.Entries {
		f(e.At)
		positions(e.Value, f)
	}
	for _, item := range n.Items {
		positions(item, f)
	}
}

// TestLargeFiles: each format takes linear time.
func TestLargeFiles(t *testing.T) {
	const many = 50_000
	for name, text := range map[string]string{
		"properties": strings.Repeat("a.b=1\n", many),
		"Terraform":  strings.Repeat("resource \"a\" \"b\" {\n  c { d = \"e\" }\n}\n", many),
		"nginx":      "http {" + strings.Repeat(" server { location / { a b; } }\n", many) + "}",
		"HAProxy":    strings.Repeat("backend a\n  retries 3\n  server b c\n", many),
	} {
		start := time.Now()
		if docs := formats[name](File([]byte(text))); len(docs) == 0 {
			t.Errorf("%s: the text has no document", name)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
	for name, text := range map[string]string{
		"Terraform": strings.Repeat("a {\n", many), "nginx": strings.Repeat("a {\n", many),
	} {
		if docs := formats[name](File([]byte(text))); len(docs) > 0 {
			t.Errorf("%s: nested blocks have a document", name)
		}
	}
}
