package gen

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// unread is the rule about clients that the policy file does not know.
const unread = "P921"

// hints reports clients whose errors no policy reads, or whose own attempts nothing
// counts, each once, at the binding that is nearest to them. It does not fail the run.
func (r *resolver) hints() {
	if r.unit.file.NoClients {
		return
	}
	// The readers of the first two would have the names of other generated functions.
	h := hinter{resolver: r, names: map[string]bool{"retry": true, "grpc": true}}
	for _, c := range r.unit.file.Clients {
		h.names[c.Name] = true
		h.reads(symbolsOf(c))
	}
	for _, e := range r.unit.file.Errors {
		h.reads(e.As)
	}
	for _, c := range allPresets() {
		h.names[c.Name] = true
	}
	for _, b := range r.unit.file.Bindings {
		if b.Policy != "" || slices.ContainsFunc(b.Methods, func(m policy.Method) bool { return m.Policy != "" }) {
			h.binding(b)
		}
	}
	h.report()
}

// allPresets returns the presets, which are parsed once. They must not be changed.
var allPresets = sync.OnceValue(func() (list []policy.Client) {
	for _, name := range policy.Presets() {
		list = append(list, *policy.Preset(name))
	}
	return list
})

// A hinter reports the clients that a policy file could read.
type hinter struct {
	*resolver
	read  []goName        // what is read
	names map[string]bool // that a client to add cannot have
	notes []*note
}

// A goName is a name of a package.
type goName struct{ path, name string }

// A note is one hint. It is where the symbol is bound that is the nearest to the
// errors.
type note struct {
	policy.Problem        // its text is what nothing reads
	about          string // the module of a client, or a package of a main module
	steps          int    // from the symbol to the errors
	dependency     bind.Dependency
	preset         string           // that reads it, or ""
	types          []bind.Candidate // to read, without a preset
	line           string           // the entry of clients that reads it, or ""
}

// standsFor reports whether a path with /vN stands for the import path of a
// package.
func standsFor(path, pkg string) bool {
	before, after, major := strings.Cut(path, anyMajor)
	rest, ok := strings.CutPrefix(pkg, before)
	if !major || !ok {
		return path == pkg
	}
	version, ok := strings.CutSuffix(rest, after)
	return ok && majorVersion.MatchString(version)
}

// reads adds symbols to what is read.
func (h *hinter) reads(symbols []policy.Symbol) {
	for _, s := range symbols {
		h.read = append(h.read, h.nameOf(s.Name))
	}
}

// nameOf returns the name that a symbol of the policy file stands for.
func (h *hinter) nameOf(symbol string) goName {
	path, name, _ := bind.SplitRef(symbol)
	return goName{cmp.Or(path, h.unit.pkg.Path), name}
}

// isRead reports whether the file reads errors of the type, or compares with the
// variable, of a package.
func (h *hinter) isRead(n goName) bool {
	return slices.ContainsFunc(h.read, func(read goName) bool {
		return read.name == n.name && standsFor(read.path, n.path)
	})
}

// isReadOf reports whether the file reads some errors of the package at path.
func (h *hinter) isReadOf(path string) bool {
	return slices.ContainsFunc(h.read, func(read goName) bool { return standsFor(read.path, path) })
}

var endOfModule = regexp.MustCompile(`/v[0-9]+$`)

// knows reports whether a preset reads errors of a module.
func (h *hinter) knows(module string) bool {
	module = endOfModule.ReplaceAllString(module, "")
	return slices.ContainsFunc(allPresets(), func(c policy.Client) bool {
		return slices.ContainsFunc(symbolsOf(c), func(s policy.Symbol) bool {
			path, _, _ := bind.SplitRef(s.Name)
			return path == module || strings.HasPrefix(path, module+"/")
		})
	})
}

// binding notes what nothing reads of the errors of a bound symbol.
func (h *hinter) binding(b policy.Binding) {
	path, name, method := bind.SplitSymbol(b.Symbol)
	if standard := bind.StandardPath(b.Symbol); standard != "" {
		path, name, method = standard, method, ""
	}
	typed := false // some error has a type that is read, or could be
	for _, d := range h.unit.pkg.Reach(path, name, method) {
		if h.preset(b, d) {
			typed = true
			continue
		}
		if typed = typed || h.isReadOf(d.Path); h.knows(d.Module) {
			continue // the other errors of a client are inside of those that its preset reads
		}
		for _, c := range d.Candidates(h.unit.pkg) {
			typed = true
			if (c.Status != "" || c.Response != "") && !h.isRead(h.nameOf(c.Symbol)) {
				h.candidate(b, d, c)
			}
		}
	}
	if !typed {
		h.untyped(b)
	}
}

// preset notes that a preset knows a dependency that the file does not, and returns
// whether there is a preset for its errors.
func (h *hinter) preset(b policy.Binding, d bind.Dependency) bool {
	for _, c := range allPresets() {
		of := func(s policy.Symbol) bool { return standsFor(h.nameOf(s.Name).path, d.Path) }
		if !slices.ContainsFunc(symbolsOf(c), of) {
			continue
		}
		isOwn := func(own policy.Client) bool { return own.Name == c.Name }
		if slices.ContainsFunc(h.unit.file.Clients, isOwn) {
			return true
		}
		if c.Methods { // the runtime reads its errors
			if c.Attempts > 1 {
				h.note(b, c.Name, d).setPreset(c.Name,
					fmt.Sprintf("nothing counts the %d attempts that %s makes itself%s", c.Attempts, c.Name, versionIn(d)))
			}
			return true
		}
		types := slices.DeleteFunc(slices.Clone(c.Types), func(t policy.Reader) bool { return !of(t.Type) })
		unread := slices.DeleteFunc(slices.Clone(types), func(t policy.Reader) bool {
			return h.isRead(goName{d.Path, h.nameOf(t.Type.Name).name})
		})
		switch {
		case len(unread) > 0:
			h.note(b, c.Name, d).setPreset(c.Name, "nothing reads "+subject(unread[0], d)+versionIn(d))
		case len(types) == 0 && !h.isReadOf(d.Path):
			h.note(b, c.Name, d).setPreset(c.Name, "nothing reads the errors of "+c.Name+versionIn(d))
		}
		return true
	}
	return false
}

// setPreset makes n a note about a preset. The first text stays.
func (n *note) setPreset(name, text string) {
	if n.preset == "" {
		n.preset, n.line, n.Text = name, name+":\n", text
	}
}

// subject describes what a preset reads of errors of a type.
func subject(t policy.Reader, d bind.Dependency) string {
	_, name, pointer := bind.SplitRef(t.Type.Name)
	what := "the class"
	switch {
	case t.Status.Name != "" || t.Response.Name != "":
		what = "the status"
	case t.Code.Name != "" || t.GRPC.Name != "":
		what = "the code"
	}
	star := ""
	if pointer {
		star = "*"
	}
	return what + " of " + star + d.Name + "." + name
}

// versionIn returns the version of a dependency in parentheses, or "".
func versionIn(d bind.Dependency) string {
	if d.Version == "" {
		return ""
	}
	return " (" + d.Version + ")"
}

// candidate notes an error type whose status is not read.
func (h *hinter) candidate(b policy.Binding, d bind.Dependency, c bind.Candidate) {
	about := d.Module
	if d.Own {
		about = d.Path // the packages of a main module have not one client
	}
	n := h.note(b, about, d)
	if !slices.Contains(n.types, c) {
		n.types = append(n.types, c)
	}
}

// describe writes the text of a note about types.
func (n *note) describe() {
	slices.SortFunc(n.types, func(a, b bind.Candidate) int { return strings.Compare(a.Name, b.Name) })
	var names []string
	for _, c := range n.types {
		names = append(names, c.Name)
	}
	const most = 3
	if len(names) > most {
		names = append(names[:most-1], fmt.Sprintf("%d other types", len(names)-most+1))
	}
	last := len(names) - 1
	list := names[last]
	if last > 0 {
		list = strings.Join(names[:last], ", ") + " and " + list
	}
	n.Text = "nothing reads the status of " + list + versionIn(n.dependency)
	if n.dependency.Own {
		n.Text += ": give " + n.pronoun() + " a method StatusCode() int, or"
	}
}

// pronoun stands for what a note is about.
func (n *note) pronoun() string {
	if len(n.types) > 1 {
		return "them"
	}
	return "it"
}

// entry returns the entry of clients that reads the types of a note.
func (n *note) entry(name string) string {
	if len(n.types) == 1 {
		return name + ": {" + keysOf(n.types[0]) + "}\n"
	}
	var text strings.Builder
	text.WriteString(name + ":\n    types:\n")
	for _, c := range n.types {
		text.WriteString("      - {" + keysOf(c) + "}\n")
	}
	return text.String()
}

// keysOf returns the keys that describe how a type is read.
func keysOf(c bind.Candidate) string {
	keys := fmt.Sprintf("type: %q", c.Symbol)
	if c.Status != "" {
		keys += ", status: " + c.Status
	}
	if c.Response != "" {
		keys += ", response: " + c.Response
	}
	return keys
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// clientName returns a name for a client whose package has the name pkg.
func (h *hinter) clientName(pkg string) string {
	base := strings.Trim(notInName.ReplaceAllString(strings.ToLower(pkg), "_"), "_")
	if base == "" || base[0] < 'a' {
		base = "client"
	}
	name := base
	for n := 2; h.names[name]; n++ {
		name = base + strconv.Itoa(n)
	}
	h.names[name] = true
	return name
}

// untyped notes that a policy that reads no text knows few errors of a symbol.
func (h *hinter) untyped(b policy.Binding) {
	for _, p := range h.unit.file.Policies {
		uses := b.Policy == p.Name ||
			slices.ContainsFunc(b.Methods, func(m policy.Method) bool { return m.Policy == p.Name })
		if uses && p.OnlyTypes() && !h.file.HasFacts() {
			n := h.note(b, "", bind.Dependency{})
			n.Text = cmp.Or(n.Text, fmt.Sprintf("only network errors and timeouts of %s are known to policy %s: return errors "+
				"with a method StatusCode() int, add a client, or write match_text: status", b.Symbol, p.Name))
		}
	}
}

// note returns the note about something, which it adds, or moves to a binding that
// is nearer to the errors.
func (h *hinter) note(b policy.Binding, about string, d bind.Dependency) *note {
	i := slices.IndexFunc(h.notes, func(n *note) bool { return n.about == about })
	if i < 0 {
		i = len(h.notes)
		h.notes = append(h.notes, &note{about: about, steps: d.Steps, dependency: d, Problem: policy.Problem{
			File: h.unit.source, Pos: b.Pos, Rule: unread, Severity: rules.Info}})
	}
	n := h.notes[i]
	if d.Steps < n.steps {
		n.steps, n.Pos = d.Steps, b.Pos
	}
	return n
}

// report reports the hints. Together they have the lines that the file lacks, which
// follow the last one that needs them.
func (h *hinter) report() {
	h.notes = slices.DeleteFunc(h.notes, func(n *note) bool { return h.unit.file.Ignores(n.Problem) })
	for _, n := range h.notes {
		if len(n.types) > 0 {
			n.describe()
		}
	}
	slices.SortFunc(h.notes, func(a, b *note) int { // as policy.Sort does
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), strings.Compare(a.Text, b.Text))
	})
	var presets, lines []string
	last := -1 // the note that has the lines
	for i, n := range h.notes {
		if n.preset != "" {
			presets = append(presets, n.preset)
		}
		if len(n.types) > 0 {
			n.line = n.entry(h.clientName(n.dependency.Name))
		}
		if n.line != "" {
			lines, last = append(lines, "  "+n.line), i
		}
	}
	short := len(presets) == len(lines) && len(h.unit.file.Clients) == 0
	for i, n := range h.notes {
		switch {
		case n.line == "":
		case short:
			n.Text += ": add clients: [" + strings.Join(presets, ", ") + "]"
		case i == last && len(lines) > 1:
			n.Text += addTo(n.Text, "these to clients")
		case i == last:
			n.Text += addTo(n.Text, n.pronoun()+" to clients")
		default:
			n.Text += addTo(n.Text, n.pronoun()+" to clients, as below")
		}
		if i == last && !short {
			n.Paste = "clients:\n" + strings.Join(lines, "")
		}
		h.problems = append(h.problems, n.Problem)
	}
}

// addTo returns the end of a text that says what to add.
func addTo(text, what string) string {
	if strings.HasSuffix(text, ", or") {
		return " add " + what
	}
	return ": add " + what
}
