package syntax

import (
	"bytes"
	"slices"
	"strings"
)

// haproxySections are the words that begin a section.
var haproxySections = []string{
	"global", "defaults", "frontend", "backend", "listen", "peers", "resolvers", "userlist", "mailers", "cache", "program",
	"http-errors", "ring", "log-forward", "log-profile", "fcgi-app", "crt-store", "traces", "acme", "healthcheck",
}

// HAProxy returns a text in the language of HAProxy as one document, or none if it does not begin with a
// section. The document has a list of sections in their order. Each is a map with its kind and the text after
// it, and a list for each keyword with the text of its arguments.
func (e *Excerpt) HAProxy() []Document {
	list := List()
	list.Span = Span{1, 1, 1}
	n := 0
	for line := range bytes.Lines(e.bytes) {
		n++
		words := haproxyWords(string(line), n)
		switch {
		case len(words) == 0:
		case slices.Contains(haproxySections, words[0].text):
			section := &Node{Span: words[0].at, Value: map[string]any{}}
			section.add(Entry{Key: "section", At: words[0].at, Value: &Node{
				Span: words[0].at, Text: words[0].text, Value: words[0].text,
			}})
			section.add(Entry{Key: "name", At: words[0].at, Value: arguments(words)})
			list.Items = append(list.Items, section)
		case len(list.Items) == 0:
			return nil
		default:
			section := list.Items[len(list.Items)-1]
			if key := words[0].text; key != "section" && key != "name" {
				section.putDirective(Entry{Key: key, At: words[0].at, Value: arguments(words)})
			}
		}
	}
	if len(list.Items) == 0 {
		return nil
	}
	root := Map(Entry{Key: "sections", At: list.Span, Value: list})
	root.Span = list.Span
	return []Document{{Root: root, text: e}}
}

// haproxyWords returns the words of a line, up to a comment.
func haproxyWords(line string, number int) (words []word) {
	for i := 0; i < len(line); {
		if IsBlank(line[i]) {
			i++
			continue
		}
		if line[i] == '#' {
			break
		}
		from := i
		var b strings.Builder
		for quote := byte(0); i < len(line) && (quote != 0 || !IsBlank(line[i])); i++ {
			switch c := line[i]; {
			case c == quote && quote != 0:
				quote = 0
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
			case c == '\\' && quote != '\'' && i+1 < len(line):
				i++
				b.WriteByte(line[i])
			default:
				b.WriteByte(c)
			}
		}
		i = min(i, len(line))
		end := len(strings.TrimRight(line[:i], "\r\n"))
		words = append(words, word{text: b.String(), at: Span{number, from + 1, max(end-from, 1)}})
	}
	return words
}
