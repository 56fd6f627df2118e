package rules

import (
	"fmt"
	"strings"
)

// A section is a part of a rule's documentation: a text or code, and a list.
type section struct {
	heading, text, code string
	list                []string
}

// sections returns the documentation of the rule, in the order of its headings.
func (r *Rule) sections() []section {
	fix := "Not automatic. " + r.Fix
	if r.Automatic {
		fix = "Automatic with `retrylint -fix`. " + r.Fix
	}
	return []section{
		{heading: "What it reports", text: r.Reports},
		{heading: "Why it matters", text: r.Why},
		{heading: "Example", code: r.Wrong},
		{heading: "Fixed", code: r.Right},
		{heading: "Not reported", list: r.NotReported},
		{heading: "Fix", text: fix},
		{heading: "Related", text: strings.Join(r.Related, ", ")},
	}
}

// Default describes the severity with which commands report the rule by default,
// and how to enable a rule that is off by default.
func (r *Rule) Default() string {
	switch isGo := strings.HasPrefix(r.ID, "RL"); {
	case r.Severity != Info:
		return r.Severity.String()
	case isGo:
		return "info, off by default: enable it with `retrylint -enable " + r.ID + "`"
	}
	return "info, off by default: enable it with `retrygen check -info`"
}

// Explain returns the documentation as plain text in 80 columns. Lines of code may
// be longer.
func (r *Rule) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\nSeverity: %s.\n", r.ID, r.Title, plain(r.Default()))
	for _, s := range r.sections() {
		fmt.Fprintf(&b, "\n%s:\n\n", s.heading)
		if s.text != "" {
			b.WriteString(wrap(plain(s.text), "  ", "  "))
		}
		for _, item := range s.list {
			b.WriteString(wrap(plain(item), "  - ", "    "))
		}
		for line := range strings.Lines(s.code) {
			b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
		}
	}
	return b.String()
}

// Markdown returns the documentation as a Markdown page.
func (r *Rule) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\nSeverity: %s.\n", r.ID, r.Title, r.Default())
	language := "yaml"
	if strings.HasPrefix(r.ID, "RL") {
		language = "go"
	}
	for _, s := range r.sections() {
		fmt.Fprintf(&b, "\n## %s\n\n", s.heading)
		switch {
		case s.code != "":
			fmt.Fprintf(&b, "```%s\n%s\n```\n", language, s.code)
		case s.heading == "Related":
			links := make([]string, len(r.Related))
			for i, id := range r.Related {
				links[i] = fmt.Sprintf("[%s](%[1]s.md)", id)
			}
			b.WriteString(strings.Join(links, ", ") + "\n")
		case s.text != "":
			b.WriteString(s.text + "\n")
		}
		for _, item := range s.list {
			b.WriteString("- " + item + "\n")
		}
	}
	return b.String()
}

// plain returns a text without its backquotes.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

// wrap breaks a text into lines of at most 80 columns. first is the indent of the
// first line, rest that of the others.
func wrap(text, first, rest string) string {
	const columns = 80
	var b strings.Builder
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
	b.WriteString(line + "\n")
	return b.String()
}
