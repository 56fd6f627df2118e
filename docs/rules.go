// Package docs contains the rule pages, which the commands print.
package docs

import (
	"embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed rules/P*.md rules/RL*.md
var pages embed.FS

// A Page describes a rule in Markdown. All pages have the same sections, and each
// paragraph and each list item is a single line.
type Page string

// Rule returns the page of the rule with the given id, such as "P301", or "" if there is
// none.
func Rule(id string) Page {
	text, err := pages.ReadFile("rules/" + id + ".md")
	if err != nil {
		return ""
	}
	return Page(text)
}

// Title returns the page's heading without the id of the rule.
func (p Page) Title() string {
	heading, _, _ := strings.Cut(string(p), "\n")
	_, title, _ := strings.Cut(heading, ": ")
	return title
}

var link = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`) })

// Text returns the page as plain text in 80 columns. Lines of code may be longer.
func (p Page) Text() string {
	var b strings.Builder
	indent, code := "", false
	for line := range strings.Lines(string(p)) {
		mark, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case code:
			b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
		case mark == "#":
			b.WriteString(rest + "\n")
		case mark == "##":
			b.WriteString(rest + ":\n")
			indent = "  "
		case mark == "-":
			wrap(&b, plain(rest), indent+"- ", indent+"  ")
		default:
			wrap(&b, plain(line), indent, indent)
		}
	}
	return b.String()
}

// plain returns a text without its backquotes and the targets of its links.
func plain(text string) string {
	return strings.ReplaceAll(link().ReplaceAllString(text, "$1"), "`", "")
}

// wrap writes a text in lines of at most 80 columns. first is the indent of the first
// line, rest that of the others.
func wrap(b *strings.Builder, text, first, rest string) {
	const columns = 80
	line := first
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) > columns:
			b.WriteString(line + "\n")
			line = rest + word
		default:
			line += " " + word
		}
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
