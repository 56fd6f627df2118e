package policy

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/retrygen/retrygen/policy/rules"
)

// An ignore is a comment that suppresses a rule on its line, or, where it
// stands alone, on the next line that is not a comment:
//
//	# retrygen:ignore P405 the service answers fast or not at all
type ignore struct {
	at     span
	line   int // that it is about
	rule   string
	reason string
	used   bool
}

var (
	ignoreText = regexp.MustCompile(`(?:^|\s)(# *retrygen:ignore\b *(\S*) *(.*?))\s*$`)
	// What a policy means can be judged otherwise; what it says cannot.
	suppressible = regexp.MustCompile(`^P[2-8][0-9][0-9]$`)
)

// suppress takes out the problems that comments of the file ignore, and adds
// those of the comments themselves.
func suppress(r reporter, text []byte) {
	ignores := ignoresIn(text)
	if len(ignores) == 0 {
		return
	}
	r.problems = slices.DeleteFunc(r.problems, func(p Problem) bool {
		for _, ig := range ignores {
			if ig.line == p.Line && ig.rule == p.Rule && ig.reason != "" && suppressible.MatchString(p.Rule) {
				ig.used = true
				return true
			}
		}
		return false
	})
	failed := slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Severity == rules.Error && !suppressible.MatchString(p.Rule) })
	for _, ig := range ignores {
		switch {
		case !suppressible.MatchString(ig.rule):
			r.problem(ig.at, "P002", "only a rule about what a policy means can be ignored, P2… to P8…: write # retrygen:ignore P405 and the reason")
		case ig.reason == "":
			r.problem(ig.at, "P002", "this ignore has no reason: say after %s why the policy is right", ig.rule)
		case !ig.used && !failed: // the rules judge nothing that is broken
			r.problem(ig.at, "P001", "nothing here is reported as %s: remove the comment", ig.rule)
		}
	}
}

func ignoresIn(text []byte) (list []*ignore) {
	if !bytes.Contains(text, []byte("retrygen:ignore")) {
		return nil
	}
	var alone []*ignore // above a line that is still to come
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimRight(line, "\r\n")
		code := bytes.TrimLeft(line, " \t")
		comment := bytes.HasPrefix(code, []byte("#"))
		if !comment && len(code) > 0 {
			for _, ig := range alone {
				ig.line = n
			}
			alone = nil
		}
		if m := ignoreText.FindSubmatchIndex(line); m != nil {
			ig := &ignore{at: span{Pos{n, m[2] + 1}, m[3] - m[2]}, line: n, rule: string(line[m[4]:m[5]]), reason: string(line[m[6]:m[7]])}
			list = append(list, ig)
			if comment {
				alone = append(alone, ig)
			}
		}
	}
	return list
}
