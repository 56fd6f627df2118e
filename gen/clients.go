package gen

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
)

// modules are the paths of the modules that a go.mod names: its own and those that
// it requires.
type modules []string

// modulesOf returns the modules of the go.mod of the package in dir, or nil.
func modulesOf(dir string) (list modules) {
	for {
		name := filepath.Join(dir, "go.mod")
		if text, err := os.ReadFile(name); err == nil {
			file, err := modfile.ParseLax(name, text, nil)
			if err != nil {
				return nil // loading the packages reports it
			}
			if file.Module != nil {
				list = append(list, file.Module.Mod.Path)
			}
			for _, r := range file.Require {
				list = append(list, r.Mod.Path)
			}
			return list
		}
		above := filepath.Dir(dir)
		if above == dir {
			return nil
		}
		dir = above
	}
}

// anyMajor stands for a major version in the path of a module, or for none.
const anyMajor = "/vN"

var majorVersion = regexp.MustCompile(`^(?:/v[0-9]+)?$`)

// expand returns the symbols that a symbol with /vN stands for: one for each major
// version in the list. It returns other symbols alone.
func (m modules) expand(symbol string) (list []string) {
	star := strings.HasPrefix(symbol, "*")
	before, after, found := strings.Cut(strings.TrimPrefix(symbol, "*"), anyMajor)
	if !found || after != "" && after[0] != '/' && after[0] != '.' {
		return []string{symbol}
	}
	for _, path := range m {
		if rest, ok := strings.CutPrefix(path, before); ok && majorVersion.MatchString(rest) {
			name := path + after
			if star {
				name = "*" + name
			}
			list = append(list, name)
		}
	}
	return list
}

// has reports whether one of the modules, or the standard library, has the package
// of a symbol.
func (m modules) has(symbol string) bool {
	path, _, _ := bind.SplitRef(symbol)
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return true
	}
	return slices.ContainsFunc(m, func(module string) bool {
		return within(path, module)
	})
}

// find returns the symbols of the modules that a symbol of a client stands for.
// One of a preset stands for nothing if no module has its package.
func (m modules) find(c policy.Client, symbol string) []string {
	return slices.DeleteFunc(m.expand(symbol), func(s string) bool { return c.Preset && !m.has(s) })
}

// addClients adds the packages of the clients to those to be loaded.
func (u *unit) addClients() {
	if len(u.file.Clients) == 0 {
		return
	}
	u.modules = modulesOf(u.dir)
	for _, c := range u.file.Clients {
		for _, symbol := range symbolsOf(c) {
			for _, name := range u.modules.find(c, symbol.Name) {
				u.addForeign(policy.Symbol{Name: name})
			}
		}
	}
}

// symbolsOf returns the Go symbols of a client.
func symbolsOf(c policy.Client) (list []policy.Symbol) {
	for _, m := range slices.Concat(c.Is, c.Test) {
		list = append(list, m.Values...)
	}
	for _, r := range c.Types {
		list = append(list, r.Type)
	}
	return list
}

// clients finds the Go symbols of the clients, and resolves what is read of their
// errors.
func (r *resolver) clients() {
	for _, c := range r.unit.file.Clients {
		if one, ok := r.client(c); ok {
			r.claim(c.Pos, emit.ReaderFunc(c.Name), "the reader of client "+c.Name, "rename one of the two")
			r.file.Clients = append(r.file.Clients, one)
		}
	}
	if r.file.HasAttempts() {
		r.claim(r.factsPos(), emit.AttemptsConst, "the attempts of clients", "rename it")
	}
	if r.file.HasFacts() {
		r.claim(r.factsPos(), emit.FactsFunc, "what is known about errors", "rename it")
	}
}

// factsPos returns where the clients are, or the begin of the file.
func (r *resolver) factsPos() policy.Pos {
	if list := r.unit.file.Clients; len(list) > 0 {
		return list[0].Pos
	}
	return policy.Pos{Line: 1, Col: 1}
}

// client resolves one client. Symbols that the version of a preset's client lacks
// are left out, as long as there are others.
func (r *resolver) client(c policy.Client) (one emit.Client, ok bool) {
	before := len(r.problems)
	one = emit.Client{Name: c.Name, Description: c.Description, Attempts: c.Attempts, Packages: r.packages(c)}
	one.Is = r.symbols(c, c.Is, r.unit.pkg.ErrorVar)
	one.Test = r.symbols(c, c.Test, r.unit.pkg.Predicate)
	var lacking error
	for _, t := range c.Types {
		for _, symbol := range r.unit.modules.find(c, t.Type.Name) {
			from, err := r.unit.pkg.Reader(symbol)
			switch {
			case err != nil && c.Preset && bind.Lacks(err):
				lacking = r.versioned(symbol, err)
			case err != nil:
				r.problem(t.Type.Pos, "P904", "%s cannot be read: %v", symbol, r.versioned(symbol, err))
			default:
				r.constraints = append(r.constraints, from.Type.Constraint)
				one.Types = append(one.Types, r.reader(c, t, symbol, from))
			}
		}
	}
	for _, m := range c.Text {
		one.Text = append(one.Text, codesOf(m))
	}
	switch {
	case len(r.problems) > before:
		return one, false
	case len(one.Is)+len(one.Test)+len(one.Types)+len(one.Text) > 0:
		return one, true
	case lacking != nil:
		r.problem(c.Pos, "P904", "client %s cannot be read: %v", c.Name, lacking)
	default:
		r.problem(c.Pos, "P904", "client %s cannot be read: go.mod does not require %s: remove it, or import the client",
			c.Name, moduleText(c))
	}
	return one, false
}

// packages returns the import paths of the packages, and of those below, whose
// calls make the attempts of a client: by default the modules of its types.
func (r *resolver) packages(c policy.Client) (list []string) {
	paths := c.Packages
	for _, t := range c.Types {
		if len(c.Packages) == 0 {
			path, _, _ := bind.SplitRef(t.Type.Name)
			paths = append(paths, policy.Symbol{Name: path})
		}
	}
	for _, p := range paths {
		for _, path := range r.unit.modules.expand(p.Name) {
			if len(c.Packages) == 0 {
				path = r.unit.pkg.Module(path)
			}
			if path != "" && !slices.Contains(list, path) {
				list = append(list, path)
			}
		}
	}
	return list
}

// checkMultiplied reports a bound function of a client that makes several attempts itself, if
// the policy multiplies them beyond the limit of the file. For functions that call such a
// client, the linter reports the same (RL401). It cannot do so here, because it does not
// analyze the code of the client.
func (r *resolver) checkMultiplied(s served) {
	limit := r.unit.file.Amplification
	for _, c := range r.unit.file.Clients {
		product, limited := s.policy.Product(&c)
		calls := slices.ContainsFunc(r.packages(c), func(path string) bool { return within(s.fn.Package, path) })
		if c.Attempts < 2 || !limited || product <= limit || !calls || s.fn.Ctx < 0 {
			continue
		}
		advice := "lower max_attempts"
		if c.Off != "" {
			advice = fmt.Sprintf("switch the client's retries off (%s) and write %s: {attempts: 1}, or %s",
				c.Off, c.Name, advice)
		}
		r.warning(s.pos, "P930", "policy %s makes %d attempts of %s, and %s makes %d itself: %d calls, more than "+
			"limits.amplification %d: %s",
			s.policy.Name, s.policy.MaxAttempts, s.symbol, c.Name, c.Attempts, product, limit, advice)
	}
}

// within reports whether a package is at an import path, or below it.
func within(pkg, path string) bool {
	below, ok := strings.CutPrefix(pkg, path)
	return ok && (below == "" || below[0] == '/')
}

// moduleText describes the packages of a client, if no module has any of them.
func moduleText(c policy.Client) string {
	var paths []string
	for _, s := range symbolsOf(c) {
		if path, _, _ := bind.SplitRef(s.Name); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	const most = 3
	if len(paths) > most {
		paths = append(paths[:most], "…")
	}
	return strings.Join(paths, " or ")
}

// versioned adds the version of the module of a symbol to an error about it.
func (r *resolver) versioned(symbol string, err error) error {
	path, _, _ := bind.SplitRef(symbol)
	if version := r.unit.pkg.Version(path); version != "" {
		return fmt.Errorf("%w (%s)", err, version)
	}
	return err
}

// symbols finds the variables or functions of a client.
func (r *resolver) symbols(c policy.Client, list []policy.Match, lookup func(string) (bind.Ref, error)) (
	found []emit.Symbols) {
	for _, m := range list {
		one := emit.Symbols{Outcome: m.Outcome.Name}
		for _, v := range m.Values {
			for _, symbol := range r.unit.modules.find(c, v.Name) {
				ref, err := lookup(symbol)
				switch {
				case err != nil && c.Preset && bind.Lacks(err):
				case err != nil:
					r.problem(v.Pos, "P904", "%s cannot be used: %v", symbol, r.versioned(symbol, err))
				default:
					r.constraints = append(r.constraints, ref.Constraint)
					one.Refs = append(one.Refs, ref)
				}
			}
		}
		if len(one.Refs) > 0 {
			found = append(found, one)
		}
	}
	return found
}

// reader resolves the paths of a type.
func (r *resolver) reader(c policy.Client, t policy.Reader, symbol string, from *bind.ErrorReader) emit.Reader {
	one := emit.Reader{Type: from.Type, Outcome: t.Class.Name}
	path := func(s policy.Symbol, key string, want bind.ValueKind) *bind.Path {
		if s.Name == "" {
			return nil
		}
		p, err := from.Path(s.Name, want)
		if err != nil {
			what := fmt.Sprintf("%s %s of %s", key, s.Name, symbol)
			if c.Preset {
				what = "client " + c.Name + ": " + what
			}
			r.problem(s.Pos, "P904", "%s cannot be read: %v", what, r.versioned(symbol, err))
		}
		return p
	}
	one.Status = path(t.Status, "status", bind.ValueInteger)
	one.Response = path(t.Response, "response", bind.ValueResponse)
	one.GRPC = path(t.GRPC, "grpc", bind.ValueInteger)
	one.RetryAfter = path(t.RetryAfter, "retry_after",
		bind.ValueWait|bind.ValueInteger|bind.ValueTime|bind.ValueHeader)
	if one.Lookup = path(t.Code, "code", bind.ValueInteger|bind.ValueText); one.Lookup == nil {
		return one
	}
	for _, m := range t.Codes {
		one.Codes = append(one.Codes, codesOf(m))
		for _, v := range m.Values {
			if _, _, isRange := emit.CodeRange(v.Name); isRange && one.Lookup.Kind == bind.ValueText {
				r.problem(v.Pos, "P904", "%q is a range of numbers, but %s of %s is a text: list the codes, or write their "+
					"beginning as \"50*\"", v.Name, t.Code.Name, symbol)
			}
			if one.Lookup.Kind == bind.ValueInteger && !isNumber(v.Name, one.Lookup) {
				r.problem(v.Pos, "P904", "%q is not a code of %s, whose %s is an integer: write a number that it can have, "+
					"or a range such as 500-599", v.Name, symbol, t.Code.Name)
			}
		}
	}
	return one
}

// isNumber reports whether a code is a number that a path can have, a range of
// them, or any.
func isNumber(code string, p *bind.Path) bool {
	if low, high, ok := emit.CodeRange(code); ok {
		return p.Fits(low) && p.Fits(high)
	}
	n, err := strconv.ParseInt(code, 10, 64)
	return code == "*" || err == nil && p.Fits(n) && strconv.FormatInt(n, 10) == code // 08 is no number in Go
}

func codesOf(m policy.Match) emit.Codes {
	one := emit.Codes{Outcome: m.Outcome.Name}
	for _, v := range m.Values {
		one.Values = append(one.Values, v.Name)
	}
	return one
}
