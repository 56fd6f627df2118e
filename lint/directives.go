package lint

import (
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/tools/go/analysis"
)

// Directives reports suppressions that suppress nothing or give no reason.
var Directives = &analysis.Analyzer{
	Name:     "retrydirectives",
	Doc:      docOf("retrydirectives", "RL001", "RL002"),
	URL:      pageOf("RL001"),
	Requires: append(slices.Clip(reporting), directiveIndex),
	Run:      runDirectives,
}

// directiveIndex finds the directives of a package. Each reporting analyzer returns the
// directives that suppressed one of its findings.
var directiveIndex = &analysis.Analyzer{
	Name:       "retrydirectiveindex",
	Doc:        "retrydirectiveindex: find the retrylint comments of a package",
	ResultType: reflect.TypeFor[*directives](),
	Run: func(pass *analysis.Pass) (any, error) {
		return indexDirectives(pass), nil
	},
}

// used is the type of the result of a reporting analyzer: the directives that suppressed a
// finding.
var used = reflect.TypeFor[[]*directive]()

type directive struct {
	pos    token.Pos
	file   string
	line   int
	rules  []string
	reason string
}

var ruleName = regexp.MustCompile(`^(RL|P)[0-9]{3}$`)

func isUnknown(rule string) bool { return !ruleName.MatchString(rule) }

func (d *directive) String() string { return strings.Join(d.rules, ",") }

type directives struct{ list []*directive }

// ruleList matches the rules at the start of an ignore: RL101, or RL101, RL103 as in the text
// of a finding.
var ruleList = regexp.MustCompile(`^[^\s,]+(,[ \t]*RL[0-9]+)*`)

var directiveText = regexp.MustCompile(`^//retrylint:(ignore|forever)(?:[ \t]+(.*))?$`)

func indexDirectives(pass *analysis.Pass) *directives {
	all := new(directives)
	for _, file := range pass.Files {
		for _, group := range file.Comments {
			for _, c := range group.List {
				m := directiveText.FindStringSubmatch(c.Text)
				if m == nil {
					continue
				}
				// A comment that states what a test expects on this line is not a reason.
				text, _, _ := strings.Cut(m[2], "// want ")
				at := pass.Fset.Position(c.Pos())
				d := &directive{pos: c.Pos(), file: at.Filename, line: at.Line, rules: []string{"RL101"},
					reason: strings.TrimSpace(text)}
				if m[1] == "ignore" {
					ids := ruleList.FindString(d.reason)
					d.rules = strings.FieldsFunc(ids, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
					d.reason = strings.TrimSpace(d.reason[len(ids):])
				}
				all.list = append(all.list, d)
			}
		}
	}
	return all
}

// covering returns the directive for a rule on the line of at or above it.
func (all *directives) covering(at token.Position, rule string) *directive {
	i := slices.IndexFunc(all.list, func(d *directive) bool {
		return slices.Contains(d.rules, rule) && d.file == at.Filename && (d.line == at.Line || d.line == at.Line-1)
	})
	if i < 0 {
		return nil
	}
	return all.list[i]
}

func runDirectives(pass *analysis.Pass) (any, error) {
	obeyed := map[*directive]bool{}
	for _, a := range pass.Analyzer.Requires {
		if list, ok := pass.ResultOf[a].([]*directive); ok {
			for _, d := range list {
				obeyed[d] = true
			}
		}
	}
	report := func(d *directive, rule, text string) {
		pass.Report(analysis.Diagnostic{Pos: d.pos, Category: rule, URL: pageOf(rule), Message: text + " (" + rule + ")"})
	}
	for _, d := range pass.ResultOf[directiveIndex].(*directives).list {
		switch {
		case len(d.rules) == 0:
			report(d, "RL002", "this ignore names no rule: write //retrylint:ignore RL101 and the reason")
		case d.reason == "":
			report(d, "RL002", "this ignore has no reason: after "+d.String()+" write why the code is right")
		case slices.ContainsFunc(d.rules, isUnknown):
			report(d, "RL001",
				d.rules[slices.IndexFunc(d.rules, isUnknown)]+" is not a rule: write RL101, a space, and the reason")
		case !obeyed[d] && !slices.ContainsFunc(d.rules, asleep):
			report(d, "RL001", d.String()+" reports nothing here: remove the comment")
		}
	}
	return nil, nil
}
