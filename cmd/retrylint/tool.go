package main

import (
	"encoding/gob"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/retrygen/retrygen/foreign"
	"github.com/retrygen/retrygen/lint"
)

// announceVariable is the environment variable that makes the tool print the
// package that it analyzes to standard error.
const announceVariable = "RETRYLINT_ANNOUNCE"

// The lines that the tool prints begin with one of these words. The id of a package
// follows.
const (
	announcedAnalysis = "retrylint:analyze "
	announcedTypes    = "retrylint:types " // only the types of the package are needed
)

// recordFlag is the flag that makes the tool print the id of every package, and the
// findings also of the user's packages that go vet only asks the facts of. The go command
// does not distinguish whether it asks for them: it takes the one for the other from the
// build cache. Each value of the flag has entries of its own there.
const recordFlag = "record"

// unitMark reports in every package what it is: its import path, and withTests if it has test
// files. A package and its copy with tests have the same id.
var unitMark = &analysis.Analyzer{
	Name: "unit",
	Doc:  "unit: mark a package as analyzed",
	Run: func(pass *analysis.Pass) (any, error) {
		unit := pass.Pkg.Path()
		if slices.ContainsFunc(pass.Files, func(f *ast.File) bool {
			return strings.HasSuffix(pass.Fset.File(f.FileStart).Name(), "_test.go")
		}) {
			unit += " " + withTests
		}
		pass.Reportf(token.NoPos, "%s", unit)
		return nil, nil
	},
}

// withTests follows the import path of a unit that has test files.
const withTests = "with tests"

// calledByVet reports whether the arguments have one of the three forms in which go
// vet calls a tool.
func calledByVet(args []string) bool {
	last := ""
	if len(args) > 0 {
		last = args[len(args)-1]
	}
	return last == "-V=full" || last == "-flags" || strings.HasSuffix(last, ".cfg")
}

// runTool does what go vet asks of a tool. It does not return.
func runTool(args []string) {
	lint.CheckServiceConfig = foreign.CheckGRPC
	lint.Dependencies = true // runTool selects some of them by itself
	name := args[len(args)-1]
	flag.String(recordFlag, "", "for retrylint: print all packages; the `value` distinguishes entries of the cache")
	if !strings.HasSuffix(name, ".cfg") {
		unitchecker.Main(lint.Suite...)
	}
	collectLater()
	unit, err := readUnit(name)
	if err != nil {
		fmt.Fprintf(os.Stderr, "retrylint: %s: %v\n", name, err)
		os.Exit(1)
	}
	analyze := !unit.VetxOnly || isOwn(unit)
	if os.Getenv(announceVariable) != "" {
		word := announcedTypes
		if analyze {
			word = announcedAnalysis
		}
		fmt.Fprintf(os.Stderr, "%s%s\n", word, unit.ID)
	}
	if analyze {
		analyzers := lint.Suite
		if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-"+recordFlag+"=") }) {
			analyzers = append(slices.Clip(analyzers), unitMark)
			if os.Args[len(os.Args)-1], err = withFindings(unit, name); err != nil {
				fmt.Fprintf(os.Stderr, "retrylint: %v\n", err)
				os.Exit(1)
			}
		}
		unitchecker.Main(analyzers...)
	}
	// The analyzers know libraries from tables, not from their source code.
	registerFacts(lint.Suite)
	unitchecker.Run(name, nil)
}

// readUnit reads a file in which go vet describes a package.
func readUnit(name string) (*unitchecker.Config, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	unit := new(unitchecker.Config)
	return unit, json.Unmarshal(text, unit)
}

// withFindings returns the name of a file like that named name, which asks for the findings
// of the package, not only for its facts.
func withFindings(unit *unitchecker.Config, name string) (string, error) {
	if !unit.VetxOnly {
		return name, nil
	}
	unit.VetxOnly = false
	text, err := json.Marshal(unit)
	if err != nil {
		return "", err
	}
	name = filepath.Join(filepath.Dir(name), "findings.cfg")
	return name, os.WriteFile(name, text, 0o666)
}

// registerFacts registers the facts of analyzers with package gob. A package that
// is not analyzed passes on the facts of its imports.
func registerFacts(analyzers []*analysis.Analyzer) {
	for _, a := range analyzers {
		for _, fact := range a.FactTypes {
			gob.Register(fact)
		}
		registerFacts(a.Requires)
	}
}

// isOwn reports whether the source code of a package belongs to the user: its
// module is the main module, a module of the workspace, or replaced by a folder.
func isOwn(unit *unitchecker.Config) bool {
	module := analysis.Module{Path: unit.ModulePath, Version: unit.ModuleVersion}
	if unit.Module != nil { // since Go 1.27
		module = *unit.Module
	}
	switch {
	case module.Path == "": // the standard library
		return false
	case module.Version == "":
		return true
	}
	dir := filepath.ToSlash(unit.Dir)
	if root, _, vendored := strings.Cut(dir, "/vendor/"); vendored {
		return isFolder(root+"/vendor/modules.txt", module.Path)
	}
	return !strings.Contains(dir, "@v") // as the folders path@version of the module cache
}

// isFolder reports whether a file modules.txt of a vendor folder replaces a module
// by a folder.
func isFolder(name, module string) bool {
	text, _ := os.ReadFile(name) // nil: no module is replaced
	for line := range strings.Lines(string(text)) {
		// # module version => folder
		words := strings.Fields(line)
		if len(words) == 5 && words[0] == "#" && words[1] == module && words[3] == "=>" {
			return true
		}
	}
	return false
}
