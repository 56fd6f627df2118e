package policy

import (
	"cmp"
	"embed"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/spelling"
	"github.com/retrygen/retrygen/internal/syntax"
)

// methodsKey is a key of presets alone: a preset that has it adds to what the
// runtime reads of the errors by their methods, so that it need not be suggested.
const methodsKey = "methods"

// presets has one file for each preset: presets/NAME.yaml is the entry NAME of
// clients.
//
//go:embed presets/*.yaml
var presets embed.FS

// Presets returns the names of the presets, sorted.
func Presets() (names []string) {
	files, err := presets.ReadDir("presets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

// Preset returns the preset with the given name, or nil if there is none. The settings of
// a preset have no positions.
func Preset(name string) *Client {
	c, problems := readPreset(name)
	if len(problems) > 0 {
		panic(problems[0].String()) // a test reads all presets
	}
	return c
}

// readPreset returns the preset of that name, or nil, and the problems of its
// file.
func readPreset(name string) (*Client, []Problem) {
	file := "presets/" + name + ".yaml"
	text, err := presets.ReadFile(file)
	if err != nil {
		return nil, nil
	}
	d := decoder{reporter: newReporter(file, nil), spellings: new(syntax.Spellings)}
	root := syntax.Parse(text, d.unparsed)
	if root == nil {
		return nil, d.problems
	}
	own := root
	if e := root.Get(methodsKey); e != nil {
		own = root.Without(methodsKey)
	}
	c, _ := d.client(syntax.Entry{Key: name, Value: own}, nil)
	c.Preset, c.Methods = true, own != root
	c.place(Pos{})
	return &c, d.problems
}

// presetHint returns the nearest preset, or how to describe a client without one.
func presetHint(name string) string {
	if near := spelling.Nearest(name, Presets()); near != "" && len(name) < 100 {
		return ": " + spelling.Question(near)
	}
	return ": write what to read, as {type: \"*example.com/api.Error\", status: StatusCode}"
}

// over returns the client c with what below has in addition.
func (c Client) over(below Client) Client {
	below.Name, below.Pos = c.Name, c.Pos
	below.Description = cmp.Or(c.Description, below.Description)
	below.Off = cmp.Or(c.Off, below.Off)
	below.Attempts = cmp.Or(c.Attempts, below.Attempts)
	if len(c.Packages) > 0 {
		below.Packages = c.Packages
	}
	below.Is, below.Test = overMatches(c.Is, below.Is), overMatches(c.Test, below.Test)
	below.Text = overMatches(c.Text, below.Text)
	if len(c.Types) > 0 {
		below.Types = c.Types
	}
	return below
}

// over returns the reader r with what below has in addition.
func (r Reader) over(below Reader) Reader {
	if r.Class.Name != "" { // excludes what else decides
		below.Status, below.Response, below.GRPC, below.Code, below.Codes = Symbol{}, Symbol{}, Symbol{}, Symbol{}, nil
	}
	or := func(own *Symbol, below Symbol) {
		if own.Name == "" {
			*own = below
		}
	}
	or(&r.Type, below.Type)
	or(&r.Status, below.Status)
	or(&r.Response, below.Response)
	or(&r.GRPC, below.GRPC)
	or(&r.RetryAfter, below.RetryAfter)
	or(&r.Code, below.Code)
	or(&r.Class, below.Class)
	r.Codes = overMatches(r.Codes, below.Codes)
	return r
}

// overMatches returns own followed by what below has in addition. A value of both
// has the outcome of own.
func overMatches(own, below []Match) []Match {
	has := func(v Symbol) bool {
		return slices.ContainsFunc(own, func(m Match) bool {
			return slices.ContainsFunc(m.Values, func(have Symbol) bool { return have.Name == v.Name })
		})
	}
	list := slices.Clone(own)
	for _, m := range below {
		if m.Values = slices.DeleteFunc(slices.Clone(m.Values), has); len(m.Values) == 0 {
			continue
		}
		same := slices.IndexFunc(list, func(o Match) bool { return o.Outcome.Name == m.Outcome.Name })
		if same < 0 {
			list = append(list, m)
			continue
		}
		list[same].Values = slices.Concat(list[same].Values, m.Values)
	}
	return list
}

// place sets the position of everything in the client: the position of a preset is
// where it is named.
func (c *Client) place(at Pos) {
	c.Pos = at
	for i := range c.Packages {
		c.Packages[i].Pos = at
	}
	for _, list := range [][]Match{c.Is, c.Test, c.Text} {
		placeMatches(list, at)
	}
	for i := range c.Types {
		r := &c.Types[i]
		r.Pos = at
		for _, s := range []*Symbol{&r.Type, &r.Status, &r.Response, &r.GRPC, &r.RetryAfter, &r.Code, &r.Class} {
			s.Pos = at
		}
		placeMatches(r.Codes, at)
	}
}

func placeMatches(list []Match, at Pos) {
	for i := range list {
		list[i].Outcome.Pos = at
		for j := range list[i].Values {
			list[i].Values[j].Pos = at
		}
	}
}
