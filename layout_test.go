package retrygen

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/modfile"
)

const module = "github.com/retrygen/retrygen"

// floors says which packages of this module each package may import. A new
// package needs a line here and a sentence that says why an existing one would
// not do.
var floors = map[string][]string{
	// The runtime classifies by gRPC codes, and the rules compare them.
	"internal/grpcstatus": {},
	"runtime": {
		"internal/grpcstatus", "internal/idempotent", "runtime/breaker", "runtime/budget", "runtime/capacity",
		"runtime/hedge",
	},
	// Breakers and budgets know neither errors nor retries: they are used without them.
	"runtime/breaker": {},
	"runtime/budget":  {},
	// Limits and hedges are used without retries as well, and most calls need neither.
	"runtime/capacity": {},
	"runtime/hedge":    {"runtime/budget"},
	// Limits of this module and of others are compared in the same simulation.
	"internal/overload": {},
	// People who call package retry do not need what only generated code calls.
	"runtime/genapi": {"runtime", "runtime/breaker", "runtime/budget", "runtime/capacity", "runtime/hedge"},
	// The checker of policy files is large, and most programs change their policies by a new build.
	"contrib/live": {
		"policy", "policy/duration", "policy/rules", "runtime", "runtime/breaker", "runtime/budget", "runtime/capacity",
		"runtime/genapi", "runtime/hedge", "runtime/override",
	},
	"contrib/live/internal/orders": {
		"runtime", "runtime/breaker", "runtime/budget", "runtime/capacity", "runtime/genapi", "runtime/hedge",
	},
	// Programs without reload: true have nothing to override.
	"runtime/override": {"runtime/genapi"},
	// Only tests, and staging builds that inject faults, make calls fail on purpose.
	"runtime/retrytest": {"runtime"},
	// Not in the runtime, because most consumers have no use for net/http.
	"runtime/httpretry": {"runtime", "runtime/genapi"},
	// Work that fans out over units is above single calls; most have none.
	"runtime/job": {"runtime", "runtime/breaker"},
	// Calls that survive their process need a store; most calls do not.
	"runtime/durable": {
		"internal/captured", "internal/idempotent", "runtime", "runtime/breaker", "runtime/capacity",
		"runtime/durable/admin", "runtime/durable/events", "runtime/durable/genapi", "runtime/durable/internal/fault",
		"runtime/durable/internal/namespace", "runtime/durable/internal/record", "runtime/durable/shared",
		"runtime/durable/storage", "runtime/job",
	},
	// Only those who write a store, or read one without an engine, need its contract.
	"runtime/durable/storage": {},
	// Programs with a database need no store in memory.
	"runtime/durable/memory": {"runtime/durable/storage"},
	// Engines and operators report alike, and contrib/otel needs neither.
	"runtime/durable/events": {"runtime", "runtime/job"},
	// Generated code, the rules and the linter need no engine.
	"runtime/durable/genapi": {
		"runtime", "runtime/breaker", "runtime/budget", "runtime/durable/internal/fault",
		"runtime/durable/internal/record", "runtime/genapi",
	},
	// Operators need no engine, and those who execute runs do nothing by hand.
	"runtime/durable/admin": {
		"runtime", "runtime/breaker", "runtime/durable/events", "runtime/durable/genapi",
		"runtime/durable/internal/fault", "runtime/durable/internal/namespace", "runtime/durable/internal/record",
		"runtime/durable/storage", "runtime/job", "runtime/override",
	},
	// Calls that share a breaker through a store need no runs.
	"runtime/durable/shared": {
		"runtime", "runtime/breaker", "runtime/budget", "runtime/capacity", "runtime/durable/events",
		"runtime/durable/internal/record", "runtime/durable/storage", "runtime/override",
	},
	// Several of these packages return the same errors.
	"runtime/durable/internal/fault": {},
	// What is in a record is one matter, and what is decided by it are several.
	"runtime/durable/internal/record": {
		"runtime", "runtime/breaker", "runtime/durable/events", "runtime/durable/internal/fault",
		"runtime/durable/storage", "runtime/job", "runtime/override",
	},
	// Engines and operators reach the records of a namespace in one way.
	"runtime/durable/internal/namespace": {
		"runtime/durable/events", "runtime/durable/internal/fault", "runtime/durable/internal/record",
		"runtime/durable/storage",
	},
	// Most calls have nothing to clean up when their time runs out.
	"contrib/recovery": {"internal/atomicfile", "internal/captured", "runtime"},
	// Timeouts that are captured join the history of a step; neither side needs the
	// other.
	"internal/captured": {},
	// Callees read the key of a step with package retry, which does not know steps.
	"internal/idempotent": {},
	// Only those who come from Prodigy need to read its files; their durations are
	// those of policy files.
	"contrib/prodigy": {
		"policy/duration", "runtime", "runtime/breaker", "runtime/durable/admin", "runtime/durable/events",
		"runtime/durable/genapi", "runtime/durable/storage",
	},
	// Only those who come from hyperscale configure groups by its variables.
	"contrib/hyperscale": {"runtime/job"},
	// Stores in other modules are tested like those here; programs need no tests.
	"runtime/durable/durabletest": {
		"runtime", "runtime/breaker", "runtime/budget", "runtime/durable", "runtime/durable/admin",
		"runtime/durable/events", "runtime/durable/genapi", "runtime/durable/memory", "runtime/durable/shared",
		"runtime/durable/storage", "runtime/job", "runtime/retrytest",
	},
	// A program outside of the tests of stores kills processes, too, and a package that it
	// imports must not import testing.
	"runtime/durable/durabletest/kills": {
		"runtime", "runtime/durable", "runtime/durable/admin", "runtime/durable/events", "runtime/durable/genapi",
		"runtime/durable/storage", "runtime/job",
	},
	// Programs that read a store are tested with what months leave in one, which the
	// conformance test of a store does not need.
	"runtime/durable/durabletest/bigstore": {
		"runtime", "runtime/breaker", "runtime/durable/events", "runtime/durable/internal/record",
		"runtime/durable/storage",
	},
	// Messages of the file check, the generator and the commands guess alike.
	"internal/spelling": {},
	// The commands and the analyzers print the pages of the rules.
	"docs": {},
	// Which files a folder has for us is no question of policies, and git decides it.
	"internal/filetree": {},
	// Both commands print problems in one form, of which policy files know theirs.
	"internal/diagnostic": {"policy/rules"},
	// Both commands load packages through the go command.
	"internal/gocommand": {},
	// Both commands have commands, help and completion.
	"internal/cli": {"internal/spelling"},
	// Both commands write SARIF.
	"internal/sarif": {},
	// Whatever they write is whole.
	"internal/atomicfile": {},
	// Tests in the root, in contrib/clients/docs and of both commands read the pages.
	"internal/docpages": {"docs", "internal/cli"},
	// The generator writes what the linter checks.
	"internal/gensum": {},
	// Both commands are tested by scripts in a consumer's module.
	"internal/scripttest": {},
	// contrib/prometheus and contrib/otel count the same.
	"internal/measure": {
		"runtime", "runtime/breaker", "runtime/capacity", "runtime/durable", "runtime/durable/admin",
		"runtime/durable/events", "runtime/durable/storage", "runtime/hedge", "runtime/job", "runtime/override",
	},
	// Groups in memory and on a store pass the same tests.
	"internal/grouptest": {"runtime", "runtime/breaker", "runtime/job"},
	// Tests of several packages walk the same numbers.
	"internal/vectors": {},
	// The file check reads durations; the rules and the generator write them.
	"policy/duration": {},
	"policy/rules": {
		"internal/grpcstatus", "policy/duration", "runtime", "runtime/breaker", "runtime/budget", "runtime/capacity",
		"runtime/durable/genapi", "runtime/hedge", "runtime/job",
	},
	"schema": {},
	// The file check, the formatter and the readers of foreign policies share the
	// nodes and their places in the text.
	"internal/syntax": {},
	"policy": {
		"internal/diagnostic", "internal/spelling", "internal/syntax", "policy/duration", "policy/rules", "runtime",
		"runtime/breaker", "runtime/budget", "runtime/capacity", "runtime/durable/genapi", "runtime/hedge", "runtime/job",
		"runtime/retrytest", "schema",
	},
	// The formatter is used by retrygen fmt alone; the file check does without.
	"policy/format": {"internal/syntax", "policy", "policy/duration", "policy/rules", "runtime"},
	// A simulation of services is above policies, which need none.
	"storm": {
		"internal/spelling", "internal/syntax", "policy", "policy/duration", "policy/rules", "runtime", "runtime/breaker",
		"runtime/budget", "runtime/capacity", "schema",
	},
	// Wrappers that the simulation is compared with; a package with generated code has no other.
	"storm/internal/wrapped": {
		"runtime", "runtime/breaker", "runtime/budget", "runtime/capacity", "runtime/genapi",
	},
	// Who simulates without a page needs no charts.
	"storm/chart": {"policy/duration", "storm"},
	// The policies of other systems are converted to policy files, which neither
	// the file check nor the generator needs.
	"foreign": {
		"internal/grpcstatus", "internal/spelling", "internal/syntax", "policy", "policy/duration", "policy/rules",
		"runtime", "runtime/breaker",
	},
	// What editors ask about a policy file; it knows no protocol and no Go package.
	"policy/assist": {"internal/spelling", "policy", "policy/format", "schema"},
	// The commands of retrygen and the playground show the same results.
	"internal/results":  {"foreign", "internal/spelling", "policy", "storm", "storm/chart"},
	"gen/internal/bind": {"internal/gocommand", "internal/spelling"},
	"gen/internal/emit": {
		"gen/internal/bind", "internal/gensum", "policy", "policy/duration", "policy/rules", "runtime",
		"runtime/budget", "runtime/capacity", "runtime/durable/genapi", "runtime/job", "runtime/retrytest",
	},
	"gen": {"gen/internal/bind", "gen/internal/emit", "internal/atomicfile", "internal/gocommand", "policy",
		"policy/rules"},
	// Everything known by name is data that the layers above share.
	"lint/internal/vocab": {},
	// What is executed after a call failed is a question of constants, not of retries.
	"lint/internal/flow": {"lint/internal/vocab"},
	// What functions do to shared memory is asked of calls, with and without a run.
	"lint/internal/effect": {"lint/internal/flow", "lint/internal/vocab"},
	// What is retried, and what callers have to know of a function: rules are queries of it.
	"lint/internal/attempt": {"lint/internal/effect", "lint/internal/flow", "lint/internal/policies",
		"lint/internal/vocab"},
	// How long contexts live, and how often wrappers try, is what the policies say.
	"lint/internal/policies": {"lint/internal/effect", "lint/internal/flow", "lint/internal/vocab", "runtime"},
	// What runs are made of is known to all rules about them, and no retry is a run.
	"lint/internal/durablerun": {"lint/internal/effect", "lint/internal/flow", "lint/internal/vocab"},
	// lint never imports policy: programs that run the suite choose whether to carry
	// YAML and JSON Schema.
	"lint": {"docs", "internal/gensum", "lint/internal/attempt", "lint/internal/durablerun", "lint/internal/effect",
		"lint/internal/flow", "lint/internal/policies", "lint/internal/vocab", "policy/rules", "runtime",
		"runtime/capacity", "runtime/hedge"},
	// A browser loads it, and the command retrygen ui asks it in the same words.
	"playground": {
		"docs", "foreign", "internal/results", "policy", "policy/assist", "policy/rules", "storm",
	},
	"playground/wasm": {"playground"},
	// The files of the page are for the command: a browser that has them needs no copy.
	"playground/web":            {},
	"cmd/retrygen/internal/lsp": {"gen", "policy", "policy/assist", "policy/rules"},
	"cmd/retrygen": {"cmd/retrygen/internal/lsp", "docs", "foreign", "gen", "internal/atomicfile", "internal/cli",
		"internal/diagnostic", "internal/filetree", "internal/results", "internal/sarif", "playground", "playground/web",
		"policy", "policy/duration", "policy/format", "policy/rules", "schema", "storm"},
	"cmd/retrylint": {"docs", "foreign", "internal/atomicfile", "internal/cli", "internal/diagnostic",
		"internal/gocommand", "internal/sarif", "lint", "policy", "policy/rules"},
	// Consumers of the runtime.
	"examples/quickstart": {"runtime", "runtime/genapi", "runtime/httpretry"},
	"examples/agent": {
		"contrib/recovery", "runtime", "runtime/breaker", "runtime/budget", "runtime/genapi",
	},
	"examples/orders": {"runtime", "runtime/breaker", "runtime/genapi", "runtime/httpretry"},
	// Runs the analyzers over sources that do not compile, for docs/precision.md.
	"contrib/precision": {"internal/gocommand", "lint"},
	// A model of runs and steps must not share code with what it is a model of.
	"contrib/model": {},
}

// stdlibOnly are packages whose consumers pay for no other module; their tests
// neither.
var stdlibOnly = []string{
	"runtime", "runtime/breaker", "runtime/budget", "runtime/capacity", "runtime/genapi", "runtime/hedge",
	"runtime/httpretry", "runtime/job", "runtime/override", "runtime/retrytest",
	"runtime/durable", "runtime/durable/storage",
	"runtime/durable/memory", "runtime/durable/events", "runtime/durable/genapi", "runtime/durable/admin",
	"runtime/durable/shared", "runtime/durable/durabletest", "runtime/durable/durabletest/bigstore",
	"runtime/durable/durabletest/kills", "contrib/prodigy",
	"contrib/recovery", "contrib/hyperscale",
}

func TestFloors(t *testing.T) {
	for dir, files := range goFiles(t) {
		allowed, known := floors[dir]
		if dir == "." {
			continue
		}
		if !known {
			t.Errorf("%s: not in the table of floors", dir)
			continue
		}
		unused := slices.Clone(allowed)
		for name, file := range files {
			test := strings.HasSuffix(name, "_test.go")
			for _, spec := range file.Imports {
				path, _ := strconv.Unquote(spec.Path.Value)
				own, local := strings.CutPrefix(path, module+"/")
				if !test {
					unused = slices.DeleteFunc(unused, func(dir string) bool { return dir == own })
				}
				switch {
				case local && own != dir && !test && !slices.Contains(allowed, own):
					t.Errorf("%s: must not import %s", name, own)
				case !local && slices.Contains(stdlibOnly, dir) && strings.Contains(strings.Split(path, "/")[0], "."):
					t.Errorf("%s: must not import %s: only the standard library", name, path)
				}
			}
		}
		for _, own := range unused {
			t.Errorf("%s: need not be allowed to import %s", dir, own)
		}
	}
	for dir := range floors {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("%s: is in the table of floors but does not exist", dir)
		}
	}
}

// TestDocumented asks for a package comment everywhere and for a doc comment on
// every exported name.
func TestDocumented(t *testing.T) {
	for dir, files := range goFiles(t) {
		var synopsis string
		for name, file := range files {
			if file.Doc != nil && !strings.HasSuffix(name, "_test.go") {
				synopsis = strings.TrimSpace(file.Doc.Text())
			}
			if strings.HasSuffix(name, "_test.go") || strings.Contains(dir, "internal") || file.Name.Name == "main" {
				continue
			}
			for _, decl := range file.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.IsExported() && fn.Doc == nil && !isErrorMethod(fn) {
					t.Errorf("%s: %s has no doc comment", name, fn.Name.Name)
				}
			}
		}
		if synopsis == "" && dir != "." {
			t.Errorf("%s: no package comment", dir)
		}
	}
}

// maxLine is the length of a line in characters, of which a tab is one.
const maxLine = 120

// TestLineLength is about code and comments of all modules: a text between backquotes has
// the lines that it has, and generated code those of its signatures.
func TestLineLength(t *testing.T) {
	eachGoFile(t, func(name string, _ *token.FileSet, file *ast.File, text []byte) {
		if ast.IsGenerated(file) {
			return
		}
		raw := rawLines(text)
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line); n > maxLine && !raw[i+1] {
				t.Errorf("%s:%d: the line has %d characters, more than %d", name, i+1, n, maxLine)
			}
		}
	})
}

// eachGoFile calls f with the Go files of this repository, nested modules included.
func eachGoFile(t *testing.T, f func(name string, files *token.FileSet, file *ast.File, text []byte)) {
	t.Helper()
	files := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		f(filepath.ToSlash(name), files, file, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rawLines returns the lines on which a text between backquotes is.
func rawLines(text []byte) map[int]bool {
	raw := map[int]bool{}
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(text)), text, nil, 0)
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return raw
		case tok == token.STRING && lit[0] == '`':
			first := fset.Position(pos).Line
			for line := range strings.Count(lit, "\n") + 1 {
				raw[first+line] = true
			}
		}
	}
}

func isErrorMethod(fn *ast.FuncDecl) bool {
	return fn.Recv != nil && (fn.Name.Name == "Error" || fn.Name.Name == "Unwrap" || fn.Name.Name == "String")
}

// TestNoReplace guards go install …@latest, which a replace line breaks.
func TestNoReplace(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(mod.Replace) > 0 {
		t.Errorf("go.mod has replace lines")
	}
	if len(mod.Tool) > 0 || mod.Toolchain != nil {
		t.Errorf("go.mod has tool or toolchain lines")
	}
}

// goFiles parses the packages of this module, by folder and file name.
func goFiles(t *testing.T) map[string]map[string]*ast.File {
	t.Helper()
	found := map[string]map[string]*ast.File{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); path != "." && err == nil {
				return fs.SkipDir
			}
			if name := d.Name(); path != "." && (name == "testdata" || name == "node_modules" || name[0] == '.') {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if found[dir] == nil {
			found[dir] = map[string]*ast.File{}
		}
		found[dir][path] = file
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// knowsNames are the files of lint that may compare names, and of what.
var knowsNames = map[string]string{
	// Rules about one package, which say what its functions, types and fields do.
	"bypassedretry.go": "go-retryablehttp",
	"consumedbody.go":  "net/http: what sends a body, and what rewinds it",
	"plainrequest.go":  "go-retryablehttp",
	"sharedbackoff.go": "go-retry and cenkalti/backoff: what counts",
	// Names of this module, and of the go command.
	"capacityliteral.go": "the runtime: fields of policies",
	"dependency.go":      "paths of the standard library",
	"directives.go":      "comments of this linter",
	"place.go":           "files of tests and of the generator",
	"policyliteral.go":   "the runtime: fields of policies",
	"rules.go":           "rules of this linter",
}

// TestNamesInVocabulary: the linter decides by types and values. What a function, a type or a
// package is called is known to lint/internal/vocab, and to the rules about single packages.
func TestNamesInVocabulary(t *testing.T) {
	packages := goFiles(t)
	for name := range knowsNames {
		if packages["lint"][filepath.Join("lint", name)] == nil {
			t.Errorf("lint/%s does not exist: remove its line of knowsNames", name)
		}
	}
	for _, dir := range []string{"lint", "lint/internal/flow", "lint/internal/effect", "lint/internal/attempt",
		"lint/internal/durablerun"} {
		if len(packages[dir]) == 0 {
			t.Errorf("%s has no files", dir)
		}
		for name, file := range packages[dir] {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			var names []string
			ast.Inspect(file, func(n ast.Node) bool {
				names = append(names, compared(n)...)
				return true
			})
			switch exempt := dir == "lint" && knowsNames[filepath.Base(name)] != ""; {
			case exempt && len(names) == 0:
				t.Errorf("%s compares no name: remove its line of knowsNames", name)
			case !exempt:
				for _, text := range names {
					t.Errorf("%s: compares a name with %q: write a row or a function of lint/internal/vocab", name, text)
				}
			}
		}
	}
}

// notNames are words of the language, and of package ssa about what it has made itself.
var notNames = []string{"init", "init#", "main", "nil", "true", "false", "bound", "rangeindex.loop", "rangeiter.loop",
	"rangechan.loop"}

// compared returns the names that a node compares something with.
func compared(n ast.Node) (names []string) {
	var operands []ast.Expr
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			operands = []ast.Expr{n.X, n.Y}
		}
	case *ast.CaseClause:
		operands = n.List
	case *ast.CallExpr:
		if fn, ok := n.Fun.(*ast.SelectorExpr); ok {
			if pkg, ok := fn.X.(*ast.Ident); ok && slices.Contains([]string{"strings", "regexp", "slices", "vocab"}, pkg.Name) {
				operands = n.Args
			}
		}
	}
	for _, operand := range operands {
		if name, ok := nameIn(operand); ok {
			names = append(names, name)
		}
	}
	return names
}

// nameIn returns the text of a literal that may be a name. Those of builtin functions are part
// of the language.
func nameIn(operand ast.Expr) (string, bool) {
	lit, ok := operand.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil || !strings.ContainsFunc(text, unicode.IsLetter) || slices.Contains(notNames, text) {
		return "", false
	}
	_, builtin := types.Universe.Lookup(text).(*types.Builtin)
	return text, !builtin
}
