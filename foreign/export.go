package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// Export converts a policy file to a document for another system. The losses are the
// settings that have no equivalent in the system, with their positions in the policy
// file. If the file has errors or contains no policies, or if [Check] finds an error in
// the document, Export returns these problems and no document.
func Export(to *Kind, name string, text []byte) (out []byte, losses []Loss, problems []policy.Problem) {
	f, problems := policy.Check(name, text)
	if f == nil {
		return nil, nil, policy.AtLeast(rules.Error, problems)
	}
	e := &encoder{file: f, kind: to, binds: bindComments(text), taken: map[*policy.Policy]map[rules.Field]bool{},
		bound: map[string]bool{}}
	if len(f.Policies) == 0 {
		return nil, nil, []policy.Problem{e.problem(policy.Pos{Line: 1, Col: 1}, "P100",
			"there is nothing to export: the file has no policies")}
	}
	to.encode(e)
	e.untaken()
	if problems := e.refused(); problems != nil {
		return nil, nil, problems
	}
	sortLosses(e.losses)
	return e.out.Bytes(), e.losses, nil
}

func (e *encoder) problem(at policy.Pos, rule, text string) policy.Problem {
	return policy.Problem{File: e.file.Name, Pos: at, Width: 1, Rule: rule, Severity: rules.Error, Text: text}
}

// refused returns the errors in the exported document, with the positions of the policies that
// cause them. For example, a setting that is a loss may be the one that ends the retries.
func (e *encoder) refused() (problems []policy.Problem) {
	f, found := Read(e.file.Name, e.out.Bytes(), Options{From: e.kind})
	for _, p := range policy.AtLeast(rules.Error, f.check(found)) {
		at := policy.Pos{Line: 1, Col: 1}
		for _, imported := range f.policiesTo(p.Line) {
			for _, own := range e.policies() {
				if own.Name == imported.Name {
					at = own.Pos
				}
			}
		}
		text := fmt.Sprintf("the %s would have an error: %s", e.kind.Title, p.Text)
		problems = append(problems, e.problem(at, p.Rule, text))
	}
	return problems
}

// policiesTo returns the policies that begin at or before a line.
func (f *File) policiesTo(line int) (list []*Policy) {
	for _, p := range f.Policies {
		if p.Pos().Line <= line {
			list = append(list, p)
		}
	}
	return list
}

// An encoder writes the policies of a file as a document of another system.
type encoder struct {
	file   *policy.File
	kind   *Kind
	binds  map[string][]string // by policy; see bindComments
	bound  map[string]bool     // binds that are written already, in formats that allow each only once
	out    bytes.Buffer
	losses []Loss
	taken  map[*policy.Policy]map[rules.Field]bool
}

// policies returns the policies of the file.
func (e *encoder) policies() (list []*policy.Policy) {
	for i := range e.file.Policies {
		list = append(list, &e.file.Policies[i])
	}
	return list
}

// take records that the fields of a policy have an equivalent in the document. Fields that are
// not taken are losses.
func (e *encoder) take(p *policy.Policy, fields ...rules.Field) {
	if e.taken[p] == nil {
		e.taken[p] = map[rules.Field]bool{}
	}
	for _, f := range fields {
		e.taken[p][f] = true
	}
}

// lose adds a loss for a field of a policy. Its position is that of the field, or of the
// policy's name if the field is not written.
func (e *encoder) lose(p *policy.Policy, field rules.Field, format string, args ...any) {
	e.take(p, field)
	at, ok := p.Places[field]
	if !ok {
		at = p.Pos
	}
	e.losses = append(e.losses, Loss{
		File: e.file.Name, Pos: at, Path: fmt.Sprintf("policies.%s.%s", p.Name, field), Why: fmt.Sprintf(format, args...),
	})
}

// untaken adds losses for all fields that are written but were not taken.
func (e *encoder) untaken() {
	for _, p := range e.policies() {
		for _, field := range slices.Sorted(maps.Keys(p.Places)) {
			if field == "unknown" && p.RetryUnknown {
				continue // other systems retry every error
			}
			if !e.taken[p][field] && !slices.Contains(parts, field) && !slices.Contains(withoutEffect, field) {
				e.lose(p, field, "%s has no such setting", e.kind.Title)
			}
		}
	}
}

// parts lists the fields that are written as parts of other fields, backoff and jitter.
var parts = []rules.Field{"base", "increment", "delays", "jitter_factor"}

// withoutEffect lists the fields that are comments or whose effect is in other fields, and
// match_text, because no other system reads the texts of errors.
var withoutEffect = []rules.Field{"description", "extends", "match_text"}

var (
	bindComment = regexp.MustCompile(`^\s*# bind: (.+)$`)
	policyKey   = regexp.MustCompile(`^\s+([a-z][a-z0-9_]*):`)
)

// bindComments returns the comments of the form "# bind: X" above each policy. The import
// command writes these comments. X is what the policy applies to in the other system.
func bindComments(text []byte) map[string][]string {
	binds := map[string][]string{}
	var above []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if m := bindComment.FindStringSubmatch(line); m != nil {
			above = append(above, m[1])
		} else if m := policyKey.FindStringSubmatch(line); m != nil {
			binds[m[1]] = append(binds[m[1]], above...)
			above = nil
		} else if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			above = nil
		}
	}
	return binds
}

// object is a map that keeps the order of its keys.
type object []member

type member struct {
	key   string
	value any // string, int, float64, bool, object, or []any of these
}

// add appends a member and returns the object.
func (o object) add(key string, value any) object { return append(o, member{key, value}) }

// has reports whether an object has a key.
func (o object) has(key string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.key == key })
}

// isFlat reports whether an object is written on one line, which is the case for a few strings.
func (o object) isFlat() bool {
	return len(o) <= 2 && !slices.ContainsFunc(o, func(m member) bool { _, isText := m.value.(string); return !isText })
}

// writeJSON writes a value as indented JSON.
func (e *encoder) writeJSON(v any) {
	writeJSON(&e.out, v, "\n")
	e.out.WriteByte('\n')
}

func writeJSON(out *bytes.Buffer, v any, newline string) {
	inner := newline + "  "
	switch v := v.(type) {
	case object:
		if v.isFlat() {
			inner, newline = " ", ""
		}
		out.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			if newline != "" || i > 0 {
				out.WriteString(inner)
			}
			out.WriteString(scalarJSON(m.key) + ": ")
			writeJSON(out, m.value, inner)
		}
		if len(v) > 0 {
			out.WriteString(newline)
		}
		out.WriteByte('}')
	case []any:
		flat := !slices.ContainsFunc(v, func(item any) bool { _, isObject := item.(object); return isObject })
		out.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			if flat && i > 0 {
				out.WriteByte(' ')
			} else if !flat {
				out.WriteString(inner)
			}
			writeJSON(out, item, inner)
		}
		if !flat {
			out.WriteString(newline)
		}
		out.WriteByte(']')
	default:
		out.WriteString(scalarJSON(v))
	}
}

// number returns a number without an exponent.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func scalarJSON(v any) string {
	if f, ok := v.(float64); ok {
		return number(f)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // all other values are scalars
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// writeYAML writes an object as a YAML document.
func (e *encoder) writeYAML(o object) {
	if e.out.Len() > 0 {
		e.out.WriteString("---\n")
	}
	writeYAML(&e.out, o, "")
}

func writeYAML(out *bytes.Buffer, o object, indent string) {
	for i, m := range o {
		if i > 0 {
			out.WriteString(indent)
		}
		out.WriteString(scalarYAML(m.key) + ":")
		switch v := m.value.(type) {
		case object:
			if len(v) == 0 {
				out.WriteString(" {}\n")
				continue
			}
			out.WriteString("\n" + indent + "  ")
			writeYAML(out, v, indent+"  ")
		case []any:
			writeList(out, v, indent)
		default:
			out.WriteString(" " + scalarYAML(v) + "\n")
		}
	}
}

func writeList(out *bytes.Buffer, list []any, indent string) {
	if len(list) == 0 {
		out.WriteString(" []\n")
		return
	}
	out.WriteByte('\n')
	for _, item := range list {
		out.WriteString(indent + "- ")
		if o, ok := item.(object); ok {
			writeYAML(out, o, indent+"  ")
			continue
		}
		out.WriteString(scalarYAML(item) + "\n")
	}
}

// plain matches strings that YAML reads as strings without quotes.
var plain = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./-]*$|^\d+(\.\d+)?(ms|s|m|h)$`)

// scalarYAML returns a scalar in YAML, with quotes if necessary.
func scalarYAML(v any) string {
	s, ok := v.(string)
	if !ok {
		return scalarJSON(v)
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return strconv.Quote(s)
	}
	if plain.MatchString(s) {
		return s
	}
	return scalarJSON(s)
}
