package foreign

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// Check reads a file of another system and judges its policies by the rules for
// policy files. Problems have the positions of the file and the names of its
// fields. Losses are problems of severity Info. The problems are sorted.
func Check(name string, text []byte, from *Kind) []policy.Problem {
	f, problems := Read(name, text, from)
	if f == nil {
		return problems
	}
	problems = append(problems, f.judge()...)
	for _, l := range f.Losses {
		problems = append(problems, l.problem())
	}
	policy.Sort(problems)
	return slices.Compact(problems)
}

// judge checks the policy file that import writes, which is how rules apply to
// policies of other systems in the same way as to ours.
func (f *File) judge() (problems []policy.Problem) {
	w := writeFile([]*File{f})
	_, found := policy.Check(f.Name, []byte(w.String()))
	names := map[string]string{}
	for _, c := range f.classes {
		names[c.name] = c.word
	}
	reported := map[policy.Problem]bool{}
	for _, p := range found {
		t := w.at[p.Line]
		if t.policy.ignores(p.Rule) {
			continue
		}
		if t.policy != nil && slices.Contains(t.policy.remarks, p.Rule) {
			p.Severity = rules.Info
		}
		at, words := t.place(f)
		p.Pos, p.Width = policy.Pos{Line: at.Line, Col: at.Col}, at.Width
		p.Text = classWords(words.translate(p.Text), names)
		p.Paste = ""
		// A schedule of several errors is one for each class here.
		same := p
		same.Text = ofClass.ReplaceAllString(p.Text, "")
		if !reported[same] {
			problems = append(problems, p)
		}
		reported[same] = true
	}
	return problems
}

// ofClass matches the class that a problem with a schedule is about.
var ofClass = regexp.MustCompile(`^for errors of class [^ ]+: `)

// className matches the name of an error class in a message.
var className = regexp.MustCompile(`\b(class |has |next to )([a-z0-9_]+)|^()([a-z0-9_]+)`)

// classWords replaces the names of classes in a message by those that the other
// system has for them.
func classWords(text string, names map[string]string) string {
	return className.ReplaceAllStringFunc(text, func(match string) string {
		m := className.FindStringSubmatch(match)
		if word := names[m[2]+m[4]]; word != "" {
			return m[1] + word
		}
		return match
	})
}

// ignores reports whether a rule reads a field of the policy that another place
// decides.
func (p *Policy) ignores(rule string) bool {
	r := policy.RuleByID(rule)
	return p != nil && r != nil && slices.ContainsFunc(r.Reads, func(f rules.Field) bool {
		return slices.Contains(p.unknown, f)
	})
}

// place returns where in the foreign document a problem is, and the names of the
// system's fields.
func (t target) place(f *File) (syntax.Span, words) {
	var v *value
	var w words
	switch {
	case t.breaker != nil:
		v, w = t.breaker.at, t.breaker.words
		if p := t.breaker.places[t.field]; p != nil {
			v = p
		}
	case t.policy != nil:
		v, w = t.policy.root(), t.policy.words
		if p := t.policy.written(t.field); p != nil {
			v = p
		}
	}
	if v == nil {
		return syntax.Span{Line: 1, Col: 1, Width: 1}, w
	}
	if v.n.IsMap() || v.n.IsList() || v.n.Line == 0 {
		return v.at, w
	}
	return v.n.Span, w
}

// Pos returns where the policy begins in its document.
func (p *Policy) Pos() policy.Pos {
	if v := p.root(); v != nil {
		return policy.Pos{Line: v.at.Line, Col: v.at.Col}
	}
	return policy.Pos{Line: 1, Col: 1}
}

func (p *Policy) root() *value {
	if len(p.roots) == 0 {
		return nil
	}
	return p.roots[0]
}

// written returns where a field is written, or nil. The settings of the backoff are
// on one line of a policy file: base, or else the strategy.
func (p *Policy) written(field rules.Field) *value {
	if v := p.places[field]; v != nil {
		return v
	}
	if field == "backoff" {
		for _, f := range []rules.Field{"base", "increment", "delays"} {
			if v := p.places[f]; v != nil {
				return v
			}
		}
	}
	return nil
}

// fieldName matches what may be the name of a field of the policy language in a
// message, with an article before it. Timeout is also the name of a class of
// errors, which a list has.
var fieldName = regexp.MustCompile(`\b(has |an? )?([a-z]+(?:_[a-z]+)*)\b`)

// advice matches the part of a message that says what to do.
var advice = regexp.MustCompile(`: (?:raise|lower|write|remove|keep|list|move|shorten|wait|take|limit) `)

// translate replaces the names of fields in a message by those of the other
// system. It omits advice about fields that the system does not have.
func (w words) translate(text string) string {
	at := advice.FindStringIndex(text)
	if at == nil || !w.lacks(text[at[0]:]) {
		return w.rename(text)
	}
	var kept []string
	for _, alternative := range alternatives.Split(text[at[0]+2:], -1) {
		if !w.lacks(alternative) {
			kept = append(kept, w.rename(alternative))
		}
	}
	what := w.rename(text[:at[0]])
	if len(kept) == 0 {
		return what
	}
	return what + ": " + join(kept)
}

// alternatives separates the parts of an advice.
var alternatives = regexp.MustCompile(`, or |, | or `)

func join(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// name returns the name of a field.
func (w words) name(field rules.Field) (name string, ok bool) {
	if field == "max_attempts" && w[countsRetries] != "" {
		field = countsRetries
	}
	name, ok = w[field]
	return name, ok
}

// numberOfAttempts matches a number of attempts in an advice.
var numberOfAttempts = regexp.MustCompile(`(\bmax_attempts:? )(\d{1,9})\b`)

// lacks reports whether a text names a field that the system does not have.
func (w words) lacks(text string) bool {
	if strings.Contains(text, string(fixedBackoff)) && w[fixedBackoff] == "" {
		return true
	}
	return slices.ContainsFunc(fieldName.FindAllStringSubmatch(text, -1), func(m []string) bool {
		field := rules.Field(m[2])
		name, _ := w.name(field)
		return slices.Contains(ownFields, field) && (name == "" || strings.HasPrefix(name, fixed))
	})
}

func (w words) rename(text string) string {
	if w[countsRetries] != "" {
		text = numberOfAttempts.ReplaceAllStringFunc(text, func(match string) string {
			m := numberOfAttempts.FindStringSubmatch(match)
			n, _ := strconv.Atoi(m[2])
			return m[1] + strconv.Itoa(n-1)
		})
	}
	text = strings.TrimSuffix(text, " (backoff is the default)") // of policy files
	for _, setting := range []rules.Field{fullJitter, fixedBackoff} {
		if own := w[setting]; own != "" {
			text = strings.ReplaceAll(text, string(setting), own)
		}
	}
	return fieldName.ReplaceAllStringFunc(text, func(match string) string {
		m := fieldName.FindStringSubmatch(match)
		name, ok := w.name(rules.Field(m[2]))
		switch {
		case !ok, m[1] == "has ":
			return match
		case m[1] != "" && name == m[2]:
			return match // the article is right
		}
		return strings.TrimPrefix(name, fixed)
	})
}

// ownFields are the names of fields that messages mention and that are no usual
// words.
var ownFields = []rules.Field{
	"max_attempts", "initial_delay", "max_delay", "jitter", "jitter_factor", "delay_budget", "max_elapsed",
	"attempt_timeout",
	"timeout", "retry_on", "abort_on", "retry_after", "per_error", "open_for", "half_open_calls",
}
