// Package policy reads and checks policy files. It parses YAML into nodes with positions,
// decodes the nodes into settings, and resolves the settings to policies. It reports all
// problems in a file, each with its position.
//
// One table, in table.go, describes the settings of a policy. Package policy/format
// rewrites files in the canonical spelling.
package policy

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/hedge"
)

// A File is a resolved policy file. Its lists are in the order of the file. Methods may
// be called concurrently, except Suppress and Ignores.
type File struct {
	Name        string
	Scopes      []Scope
	Errors      []ErrorClass
	Breakers    []Breaker
	Budgets     []Budget
	Concurrency []Limiter
	Rates       []Rate
	Throttles   []Throttle
	Groups      []Group
	Policies    []Policy
	Bindings    []Binding
	Clients     []Client

	// NoClients reports whether the file has clients: none. If so, no readers are
	// suggested.
	NoClients bool

	// Amplification is the maximum number of attempts that nested policies may add up to,
	// by default 12. retrylint checks Go code against it (RL401).
	Amplification int

	classes   fileClasses
	scopes    map[string]*Scope    // by their names
	breakers  map[string]*Breaker  // the same
	throttles map[string]*Throttle // the same
	ignores   []*ignore            // of rules that need the Go code
}

// Policy returns the policy with the given name, or nil if there is none. f may be nil.
func (f *File) Policy(name string) *Policy {
	if f == nil {
		return nil
	}
	for i := range f.Policies {
		if f.Policies[i].Name == name {
			return &f.Policies[i]
		}
	}
	return nil
}

// A Policy is a resolved policy. Inherited settings and defaults are merged in, and
// every field has its effective value.
type Policy struct {
	Name        string
	Pos         Pos // position of the policy's name
	Description string
	Places      map[rules.Field]Pos // where each field is written; fields with their default are absent
	Breaker     string              // name of the breaker, or ""
	Budget      string              // name of the budget, or ""
	Concurrency string              // name of the concurrency limit, or ""
	Rate        string              // name of the rate, or ""
	Throttle    string              // name of the throttle, or ""
	Hedge       *hedge.Policy       // settings of the hedge, without a Name; nil means no hedge
	PermitWait  time.Duration       // the longest time that an attempt waits for the rate and the concurrency limit
	Durable     *rules.Durable      // durable settings; nil means that calls are not steps of a durable run
	Reload      bool                // whether its settings may change while the program runs
	OnExhausted genapi.OnExhausted
	OnChanged   genapi.OnChanged
	Broken      bool // the policy, or an entry to which it refers, has an error
	retry.Policy
}

// OnlyTypes reports whether the policy classifies errors only by their types. Such a
// policy does not search error texts, uses no class defined in the file, and does not
// retry unknown errors.
func (p *Policy) OnlyTypes() bool {
	return p.MatchText == retry.MatchNone && len(p.Classes) == 0 && !p.RetryUnknown &&
		!slices.Contains(p.RetryOn, retry.ClassAny) && p.MaxAttempts != 1
}

// Compiled returns the policy as generated code contains it, without settings that have
// no effect. Its Classes do not contain the Go symbols.
func (p *Policy) Compiled() retry.Policy {
	c := p.Policy
	if c.HardLimit == 0 && !c.Capture {
		c.Scope = ""
	}
	c.PerError = slices.Clone(c.PerError)
	for i := range c.PerError {
		clearUnused(&c.PerError[i].Schedule)
	}
	clearUnused(&c.Schedule)
	return c
}

// clearUnused clears the initial delay if the strategy has its own delays.
func clearUnused(s *retry.Schedule) {
	if s.Backoff == retry.BackoffCustom {
		s.InitialDelay = 0
	}
}

// Check reads a policy file from text. The File is nil if any problem is an error.
// name is only used for positions. The problems are sorted.
func Check(name string, text []byte) (*File, []Problem) {
	file, problems, _ := Read(name, text)
	for _, p := range problems {
		if p.Severity == rules.Error {
			return nil, problems
		}
	}
	return file, problems
}

// Read reads a policy file like Check, but returns a File even if some problems are
// errors. In this case, the File contains whatever could be read. The File is nil if text
// is not YAML. The spellings are for package policy/format.
func Read(name string, text []byte) (file *File, problems []Problem, spellings *syntax.Spellings) {
	d := newDecoder(name)
	if root := syntax.Parse(text, d.unparsed); root != nil {
		file = d.document(root)
		file.ignores = suppress(d.reporter, root, text)
	}
	Sort(d.problems)
	return file, d.problems, d.spellings
}

// CheckDocument returns the problems of a policy file that was created in memory. Each
// problem has the position of its node, which the caller has set. The positions may refer
// to a different file. The problems are sorted. root must not be changed during the call.
func CheckDocument(name string, root *syntax.Node) []Problem {
	d := newDecoder(name)
	d.document(root)
	Sort(d.problems)
	return d.problems
}

var policyName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// sections are the maps of a file whose keys are names.
var sections = []string{"scopes", "errors", "breakers", "budgets", "concurrency", "rates", "throttles", "groups",
	"policies"}

// document reads a file and compares it with the schema.
func (d decoder) document(root *syntax.Node) *File {
	f := d.decode(root)
	f.Name = d.file
	d.schema(root)
	return f
}

// decode reads the whole file.
func (d decoder) decode(root *syntax.Node) *File {
	f := new(File)
	if !root.IsMap() {
		d.problem(root.Span, "P102", "a policy file is a map that begins with version: 1, not %s", root.Describe())
		return f
	}
	d.version(root)
	d.topLevel(root)
	for _, section := range sections {
		if e := root.Get(section); e != nil {
			for _, e := range e.Value.Entries {
				d.define(section, e.Key)
			}
		}
	}
	limits := d.limits(root)
	f.Amplification = limits.amplification.value
	f.Scopes = d.scopes(root)
	f.Errors = d.errorClasses(root)
	f.classes = classesOf(f.Errors)
	d.clients(root, f)
	f.Breakers = d.breakers(root)
	f.scopes = byName(f.Scopes, func(s *Scope) string { return s.Name })
	f.breakers = byName(f.Breakers, func(b *Breaker) string { return b.Name })
	f.Budgets = d.budgets(root)
	f.Concurrency = d.limiters(root)
	f.Rates = d.rates(root)
	f.Throttles = d.throttles(root)
	f.throttles = byName(f.Throttles, func(t *Throttle) string { return t.Name })
	f.Groups = d.groups(root, f.Budgets)
	resolved := d.policies(root, f)
	f.storeBreakers()
	d.targets(resolved, f)
	f.permitWaits()
	f.Bindings = d.bindings(root)
	d.judge(root, resolved, limits, f)
	return f
}

// byName returns the entries of a list by their names.
func byName[T any](list []T, name func(*T) string) map[string]*T {
	entries := make(map[string]*T, len(list))
	for i := range list {
		entries[name(&list[i])] = &list[i]
	}
	return entries
}

// judge reports the findings about the entries that have no errors. An error
// hides no finding that does not depend on it.
func (d decoder) judge(root *syntax.Node, resolved []resolution, limits limits, f *File) {
	unknown := d.unsound(root, resolved, f)
	d.scopesWithin(root, limits, f.Scopes)
	for i, r := range resolved {
		p := &f.Policies[i]
		p.Broken = unknown.has("policies", p.Name)
		if !r.merged.broken {
			known := p.known(r, unknown)
			d.rules(r, &p.Policy, known)
			d.within(r, limits, &p.Policy, known)
		}
	}
	if !d.full() {
		d.fileRules(root, resolved, f, unknown)
	}
}

// A resolution holds the settings from which a policy was resolved.
type resolution struct {
	entry       syntax.Entry
	own, merged settings // as written, and with all that it inherits
	extended    settings // with the settings of the policies that it extends
	defaults    settings
}

func (d decoder) version(root *syntax.Node) {
	e := root.Get("version")
	switch {
	case e == nil:
		d.problem(root.Span, "P907", "version is missing: begin the file with version: 1")
	case e.Value.Value == int64(1):
	default:
		d.problem(e.Value.Span, "P907",
			"version %s is not known: this retrygen reads version: 1, an integer", syntax.Quote(e.Value.Text))
	}
}

// topLevel checks the keys at the top of the file. Keys that begin with x- are
// allowed, for anchors.
func (d decoder) topLevel(root *syntax.Node) {
	d.unknownKeys(root, "file", topKeys...)
}

// topKeys are the keys at the top of a file.
var topKeys = slices.Concat([]string{"version", "limits", "clients", "defaults", "bind"}, sections, fileKeys)

// isTopLevel reports whether a key at the top of a file is part of the language.
func isTopLevel(key string) bool {
	return slices.Contains(topKeys, key) || strings.HasPrefix(key, "x-")
}

// define records that a section defines a name. An invalid name is not used in
// suggestions.
func (d decoder) define(section, name string) {
	if policyName.MatchString(name) {
		d.names[section] = append(d.names[section], name)
	}
	if d.defined[section] == nil {
		d.defined[section] = map[string]bool{}
	}
	d.defined[section][name] = true
}

// defaults reads the settings of all policies: those in defaults, over those at
// the top of the file.
func (d decoder) defaults(root *syntax.Node) settings {
	before := d.errors()
	s := settings{values: d.values(root, func(s *setting) bool { return s.file })}
	if e := root.Written("defaults"); e != nil {
		own := d.settings(e.Value)
		if x, ok := own.values["extends"]; ok {
			d.problem(x.at, "P102", "defaults cannot extend a policy: write extends under a policy")
		}
		s = own.over(s)
	}
	s.broken = d.errors() > before
	return s
}

// policies reads the section policies into f. It first reads each policy as it is
// written, then merges each over its parents and the defaults.
func (d decoder) policies(root *syntax.Node, f *File) (list []resolution) {
	defaults := d.defaults(root)
	entries := d.section(root, "policies")
	own := map[string]settings{}
	for _, e := range entries {
		own[e.Key] = d.policy(e)
	}
	inherited := map[string]settings{}
	for _, e := range entries {
		extended := d.inherit(e.Key, own, inherited)
		broken := extended.broken || defaults.broken
		merged := extended.over(defaults)
		merged.broken = broken
		p := merged.policy(e.Key, f)
		p.Pos, p.Places = posOf(e.At), map[rules.Field]Pos{}
		for field, at := range merged.places() {
			p.Places[field] = posOf(at)
		}
		f.Policies = append(f.Policies, p)
		list = append(list, resolution{e, own[e.Key], merged, extended, defaults})
	}
	return list
}

// policy reads one policy, without the policies that it extends.
func (d decoder) policy(e syntax.Entry) (own settings) {
	before := d.errors()
	if !e.Value.IsNull() {
		own = d.settings(e.Value)
	}
	own.broken = d.errors() > before
	return own
}

// inherit returns the settings of a policy, completed with the settings of the policies
// that it extends, directly or not. It keeps each result in done, since chains may be
// long.
func (d decoder) inherit(name string, own, done map[string]settings) settings {
	var chain []string
	at := map[string]int{} // in chain
	broken := false
	for next := name; next != "" && !broken; next = parentOf(own[next]) {
		if _, ok := done[next]; ok {
			break
		}
		at[next] = len(chain)
		chain = append(chain, next)
		parent := parentOf(own[next])
		begin, isCycle := at[parent]
		_, defined := own[parent]
		switch {
		case parent == "":
		case isCycle:
			d.cycle(chain[begin:], own)
			broken = true
		case !defined:
			if !d.full() && !d.defined["policies"][parent] { // an invalid name is already reported
				names := slices.DeleteFunc(slices.Clone(d.names["policies"]), func(name string) bool { return name == next })
				d.problem(own[next].values["extends"].at, "P901",
					"there is no policy %s to extend%s", syntax.Quote(parent), didYouMean(parent, names))
			}
			broken = true
		}
	}
	for _, name := range slices.Backward(chain) {
		s := own[name]
		// The last policy of the chain is broken, and so are all that extend it.
		s.broken, broken = s.broken || broken, false
		if parent, ok := done[parentOf(s)]; ok {
			s.broken = s.broken || parent.broken
			s = s.over(parent)
		}
		done[name] = s
	}
	return done[name]
}

// parentOf returns the name of the policy that settings extend, or "".
func parentOf(s settings) string { return valueOf[string](s, "extends") }

// cycle reports policies that extend each other. The message begins with the
// alphabetically first name.
func (d decoder) cycle(names []string, own map[string]settings) {
	first := slices.Index(names, slices.Min(names))
	names = slices.Concat(names[first:], names[:first+1])
	d.problem(own[names[0]].values["extends"].at, "P903", "policies extend each other in a cycle: %s", cyclePath(names))
}

// cyclePath joins the names of a cycle. It omits the middle of a long one.
func cyclePath(names []string) string {
	const maxNames = 10
	if n := len(names); n > maxNames {
		names = slices.Concat(names[:maxNames-2], []string{"…"}, names[n-2:])
	}
	return strings.Join(names, " → ")
}
