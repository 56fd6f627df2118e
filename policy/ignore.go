package policy

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
)

// An ignore is a comment that suppresses a rule on its line. A comment on a line
// of its own applies to the next line that is not a comment:
//
//	# retrygen:ignore P405 the service answers fast or not at all
type ignore struct {
	at     syntax.Span
	on     Pos // the line that it applies to
	rule   string
	reason string
	used   bool
}

var (
	ignoreText = regexp.MustCompile(`(?:^|\s)((?:#|//) *retrygen:ignore\b *(\S*) *(.*?))\s*$`)
	// commentStart matches a line that is a comment in YAML, properties or JSON.
	commentStart = regexp.MustCompile(`^(?:#|//)`)
	// Rules about the meaning of a policy can be ignored, errors of the language cannot.
	inPolicyFiles = suppressible{regexp.MustCompile(`^P([2-8][0-9][0-9]|91[34]|921)$`),
		"P2… to P8…, P913, P914 and P921"}
	// In a file of another system, the rules of our language are facts about that system.
	inForeignFiles = suppressible{regexp.MustCompile(`^P(10[1-9]|[2-9][0-9][0-9])$`), "P101 to P999"}
	// These rules need the Go code: see [File.Suppress].
	needsGo = regexp.MustCompile(`^P(91[34]|921)$`)
)

// A suppressible says which rules comments can ignore.
type suppressible struct {
	rules *regexp.Regexp
	list  string
}

// suppress removes the problems that comments of the file ignore, and reports the
// problems of the comments themselves. It returns the comments about rules that
// need the Go code.
func suppress(r reporter, root *syntax.Node, text []byte) (withGo []*ignore) {
	if !bytes.Contains(text, []byte("retrygen:ignore")) {
		return nil
	}
	ignores := ignoresIn(text, syntax.NewSource(text).CommentsByLine(root))
	return inPolicyFiles.suppress(r, ignores)
}

// SuppressForeign removes the problems that comments in another system's file ignore. It
// returns the other problems, and any problems with the comments themselves. In JSON,
// comments begin with //.
func SuppressForeign(name string, text []byte, problems []Problem) []Problem {
	if !bytes.Contains(text, []byte("retrygen:ignore")) {
		return problems
	}
	comments := map[int]syntax.Comment{}
	n, start := 0, 0
	for line := range bytes.Lines(text) {
		n++
		if m := ignoreText.FindSubmatchIndex(bytes.TrimRight(line, "\r\n")); m != nil {
			comments[n] = syntax.Comment{Start: start + m[2], End: start + m[1], Text: string(line[m[2]:m[1]])}
		} else if body := bytes.TrimLeft(line, " \t"); commentStart.Match(body) {
			comments[n] = syntax.Comment{Start: start + len(line) - len(body)}
		}
		start += len(line)
	}
	r := newReporter(name, nil)
	r.problems = problems
	inForeignFiles.suppress(r, ignoresIn(text, comments))
	return r.problems
}

// suppress removes the problems that comments ignore, and reports the problems of the
// comments. It returns the comments about rules that need the Go code.
func (s suppressible) suppress(r reporter, ignores []*ignore) (withGo []*ignore) {
	if len(ignores) == 0 {
		return nil
	}
	r.problems = slices.DeleteFunc(r.problems, func(p Problem) bool {
		return s.rules.MatchString(p.Rule) && ignored(ignores, p)
	})
	failed := slices.ContainsFunc(r.problems, func(p Problem) bool {
		return p.Severity == rules.Error && !s.rules.MatchString(p.Rule)
	})
	for _, ig := range ignores {
		meant := strings.ToUpper(strings.TrimRight(ig.rule, ",;:."))
		switch {
		case !s.rules.MatchString(ig.rule) && s.rules.MatchString(meant):
			r.problem(ig.at, "P002",
				"%s is not one rule: write # retrygen:ignore %s and the reason, in one comment for each rule",
				syntax.Quote(ig.rule),
				meant)
		case !s.rules.MatchString(ig.rule):
			r.problem(ig.at, "P002",
				"only %s can be ignored: write # retrygen:ignore P405 and the reason", s.list)
		case ig.reason == "":
			r.problem(ig.at, "P002", "this ignore has no reason: after %s write why the policy is right", ig.rule)
		case needsGo.MatchString(ig.rule):
			withGo = append(withGo, ig)
		case !ig.used && !failed: // the rules do not run on a file with errors
			r.unused(ig)
		}
	}
	return withGo
}

// ignored reports whether one of the comments ignores p.
func ignored(ignores []*ignore, p Problem) bool {
	for _, ig := range ignores {
		if ig.on.Line == p.Line && ig.rule == p.Rule && ig.reason != "" {
			ig.used = true
			return true
		}
	}
	return false
}

func (r reporter) unused(ig *ignore) {
	r.problem(ig.at, "P001", "%s reports nothing here: remove the comment", ig.rule)
}

// Suppress returns those problems that no comment in the file ignores. The problems are
// about bindings, and finding them requires the Go code. If none of the remaining
// problems is an error, Suppress adds a problem for each unused comment. It must not be
// called concurrently for one File.
func (f *File) Suppress(problems []Problem) []Problem {
	r := newReporter(f.Name, nil)
	for _, p := range problems {
		if !ignored(f.ignores, p) {
			r.problems = append(r.problems, p)
		}
	}
	if len(AtLeast(rules.Error, r.problems)) == 0 {
		for _, ig := range f.ignores {
			if !ig.used {
				r.unused(ig)
			}
		}
	}
	return r.problems
}

// Ignores reports whether a comment in the file ignores p, a problem of the bindings. It
// must not be called concurrently for one File.
func (f *File) Ignores(p Problem) bool { return ignored(f.ignores, p) }

// ignoresIn returns the ignore comments of a file, which are among its comments by
// line.
func ignoresIn(text []byte, comments map[int]syntax.Comment) (list []*ignore) {
	var pending []*ignore // on lines of their own, above the line that they apply to
	n, start := 0, 0
	for line := range bytes.Lines(text) {
		n++
		code := len(line) - len(bytes.TrimLeft(line, " \t"))
		c, has := comments[n]
		only := has && c.Start == start+code
		if !only && len(bytes.TrimSpace(line)) > 0 {
			for _, ig := range pending {
				ig.on.Line = n
			}
			pending = nil
		}
		if m := ignoreText.FindStringSubmatchIndex(c.Text); m != nil {
			ig := &ignore{at: syntax.Span{Line: n, Col: c.Start - start + m[2] + 1, Width: m[3] - m[2]}, on: Pos{Line: n},
				rule: c.Text[m[4]:m[5]], reason: c.Text[m[6]:m[7]]}
			list = append(list, ig)
			if only {
				pending = append(pending, ig)
			}
		}
		start += len(line)
	}
	return list
}
