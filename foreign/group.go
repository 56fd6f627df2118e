package foreign

import (
	"slices"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
)

// A section is an entry of a policy file that is neither a policy nor a breaker: a group or a
// scope.
type section struct {
	name     string
	at       *value // its position
	words    words
	settings settings
	places   map[rules.Field]*value // where settings are written
}

func newSection(name string, words words, at *value) *section {
	return &section{name: name, words: words, at: at, places: map[rules.Field]*value{}}
}

// set adds a setting. A setting that is already set is a loss.
func (s *section) set(field rules.Field, v *value, value *syntax.Node) {
	if s.has(field) {
		v.lose("%s of %s is set already", field, s.name)
		return
	}
	s.settings.add(field, value)
	s.places[field] = v
}

func (s *section) has(field rules.Field) bool {
	return slices.ContainsFunc(s.settings, func(s setting) bool { return s.field == field })
}

// drop removes a setting that has no effect because of another setting. It becomes a loss.
func (s *section) drop(field rules.Field, why string) {
	if v := s.places[field]; v != nil && s.has(field) {
		v.note("%s", why)
		s.settings = slices.DeleteFunc(s.settings, func(s setting) bool { return s.field == field })
	}
}

// rename changes the name of a scope, and the name of the scope that contains it.
func (s *section) rename(name string, renamed map[string]string) {
	s.name = name
	for i, p := range s.settings {
		if to := renamed[p.value.Text]; p.field == "within" && to != "" {
			s.settings[i].value = syntax.Text(to)
		}
	}
}

// scope returns the scope of the file with the given name, and adds it if it does not exist.
func (d *decoder) scope(name string, words words, at *value) *section {
	for _, s := range d.file.scopes[d.firstScope:] {
		if s.name == name {
			return s
		}
	}
	s := newSection(d.scopeNames.unique(name), words, at)
	d.file.scopes = append(d.file.scopes, s)
	return s
}

// timeLimit reads the time limit of a scope.
func (s *section) timeLimit(v *value, format durationFormat) {
	switch limit, ok := v.duration(format); {
	case !ok:
	case limit <= 0:
		v.mistake("P102", "%s is above 0, not %s", v.key, v.n.Describe())
	default:
		s.set("timeout", v, durationNode(limit))
	}
}
