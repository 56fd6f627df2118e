package gen

import (
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

// unread is the rule about errors of a client that nothing reads.
const unread = "P921"

// hints reports clients whose errors no policy reads, each once, where the first
// symbol is bound that may return them. It does not fail the run.
func (r *resolver) hints() {
	if r.unit.file.NoClients {
		return
	}
	// The readers of the first two would have the names of other generated functions.
	h := hinter{resolver: r, said: map[string]bool{}, names: map[string]bool{"retry": true, "grpc": true}}
	for _, c := range r.unit.file.Clients {
		h.names[c.Name] = true
		for _, s := range symbolsOf(c) {
			path, _, _ := bind.SplitRef(s.Name)
			h.read = append(h.read, path)
		}
	}
	for _, e := range r.unit.file.Errors {
		for _, s := range e.As {
			path, _, _ := bind.SplitRef(s.Name)
			h.read = append(h.read, path)
		}
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
	read  []string        // import paths of the packages whose errors are read
	said  map[string]bool // what has been found
	names map[string]bool // that a client to add cannot have
	notes []note
}

// A note is one hint.
type note struct {
	policy.Problem        // its text is what nothing reads
	preset         string // that reads it, or ""
	line           string // the entry of clients that reads it, or ""
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

// isRead reports whether the file reads errors of the package at path.
func (h *hinter) isRead(path string) bool {
	return slices.ContainsFunc(h.read, func(read string) bool { return standsFor(read, path) })
}

var endOfModule = regexp.MustCompile(`/v[0-9]+$`)

// knows reports whether a preset, or a client of the file, reads errors of a module.
func (h *hinter) knows(module string) bool {
	module = endOfModule.ReplaceAllString(module, "")
	of := func(c policy.Client) bool {
		return slices.ContainsFunc(symbolsOf(c), func(s policy.Symbol) bool {
			path, _, _ := bind.SplitRef(s.Name)
			return path == module || strings.HasPrefix(path, module+"/")
		})
	}
	return slices.ContainsFunc(allPresets(), of) || slices.ContainsFunc(h.unit.file.Clients, of)
}

// binding reports what nothing reads of the errors of a bound symbol.
func (h *hinter) binding(b policy.Binding) {
	path, _, _ := bind.SplitSymbol(b.Symbol)
	if path == "" && bind.StandardPath(b.Symbol) != "" {
		path = bind.StandardPath(b.Symbol)
	}
	typed := false // some error has a type that is read, or could be
	for _, d := range h.unit.pkg.Reach(path) {
		if h.isRead(d.Path) {
			typed = true
			continue
		}
		if known := h.preset(b, d); known {
			typed = true
			continue
		}
		if h.knows(d.Module) {
			continue // the other errors of a client are inside of those that are read
		}
		for _, c := range d.Candidates(h.unit.pkg) {
			if typed = true; c.Field != "" {
				h.candidate(b, d, c)
				break
			}
		}
	}
	if !typed {
		h.untyped(b)
	}
}

// preset reports that a preset reads the errors of a dependency, and returns
// whether one does.
func (h *hinter) preset(b policy.Binding, d bind.Dependency) bool {
	for _, c := range allPresets() {
		for _, s := range slices.Backward(symbolsOf(c)) { // the types are last
			path, _, _ := bind.SplitRef(s.Name)
			if !standsFor(path, d.Path) {
				continue
			}
			isOwn := func(own policy.Client) bool { return own.Name == c.Name }
			if !c.Methods && !slices.ContainsFunc(h.unit.file.Clients, isOwn) {
				h.note(b, c.Name, note{preset: c.Name, line: c.Name + ":"}, "nothing reads "+subject(c, d))
			}
			return true
		}
	}
	return false
}

// subject describes what a preset reads of the errors of a dependency.
func subject(c policy.Client, d bind.Dependency) string {
	version := ""
	if d.Version != "" {
		version = " (" + d.Version + ")"
	}
	for _, t := range c.Types {
		path, name, pointer := bind.SplitRef(t.Type.Name)
		if !standsFor(path, d.Path) {
			continue
		}
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
		return what + " of " + star + d.Name + "." + name + version
	}
	return "the errors of " + c.Name + version
}

// candidate reports an error type whose status is not read.
func (h *hinter) candidate(b policy.Binding, d bind.Dependency, c bind.Candidate) {
	if h.said[d.Path] {
		return
	}
	key := "status"
	if c.Response {
		key = "response"
	}
	version := ""
	if d.Version != "" {
		version = " (" + d.Version + ")"
	}
	text := "nothing reads the status of " + c.Name + version
	if d.Own {
		text += ": give it a method StatusCode() int, or"
	}
	line := fmt.Sprintf("%s: {type: %q, %s: %s}", h.clientName(d.Name), c.Symbol, key, c.Field)
	h.note(b, d.Path, note{line: line}, text)
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

// untyped reports that a policy that reads no text knows few errors of a symbol.
func (h *hinter) untyped(b policy.Binding) {
	for _, p := range h.unit.file.Policies {
		reads := p.MatchText.String() != "false" || len(p.Classes) > 0 || slices.Contains(p.RetryOn, "any") ||
			p.RetryUnknown || p.MaxAttempts == 1
		uses := b.Policy == p.Name ||
			slices.ContainsFunc(b.Methods, func(m policy.Method) bool { return m.Policy == p.Name })
		if uses && !reads && !h.file.HasFacts() {
			h.note(b, "", note{}, fmt.Sprintf("only network errors and timeouts of %s are known to policy %s: return errors "+
				"with a method StatusCode() int, add a client, or write match_text: status", b.Symbol, p.Name))
		}
	}
}

// note adds a hint, once for what it is about.
func (h *hinter) note(b policy.Binding, about string, n note, text string) {
	if h.said[about] {
		return
	}
	h.said[about] = true
	n.Problem = policy.Problem{File: h.unit.source, Pos: b.Pos, Rule: unread, Severity: rules.Info, Text: text}
	h.notes = append(h.notes, n)
}

// report reports the hints. Together they have the lines that the file lacks.
func (h *hinter) report() {
	var presets, lines []string
	last := -1 // the note that has the lines
	for i, n := range h.notes {
		if n.preset != "" {
			presets = append(presets, n.preset)
		}
		if n.line != "" {
			lines, last = append(lines, "  "+n.line+"\n"), i
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
			n.Text += addTo(n.Text, "it to clients")
		default:
			n.Text += addTo(n.Text, "it to clients, as below")
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
